/* Typeset the equations that arithmatex has marked, with KaTeX. */
for (const element of document.querySelectorAll(".arithmatex")) {
  const source = element.textContent.trim();
  const display = source.startsWith("\\[");
  katex.render(source.slice(2, -2), element, { displayMode: display, throwOnError: false });
}
