/** MCP URL of the page when the gateway does not know its own. `HOST` stands for the address that the browser shows. */
export const UNKNOWN_URL = 'http://HOST/mcp';

/**
 * Script of the page at `/`. Writes the address of the browser in place of `HOST`, and shows the copy buttons. Without a secure
 * context there is no clipboard object: the browser then copies the selection.
 */
export const LANDING_SCRIPT = `
const note = document.getElementById('host');
if (note) {
  const { href } = Object.assign(document.createElement('a'), { href: 'mcp' });
  const texts = document.createTreeWalker(document.querySelector('main'), NodeFilter.SHOW_TEXT);
  while (texts.nextNode()) texts.currentNode.data = texts.currentNode.data.replaceAll('${UNKNOWN_URL}', href);
  note.remove();
}
const said = document.getElementById('copied');
for (const button of document.querySelectorAll('button[data-copies]')) {
  const source = document.getElementById(button.dataset.copies);
  button.hidden = false;
  button.addEventListener('click', async () => {
    try {
      await navigator.clipboard.writeText(source.textContent.trim());
    } catch {
      getSelection().selectAllChildren(source);
      document.execCommand('copy');
    }
    button.textContent = 'Copied';
    said.textContent = 'Copied';
    setTimeout(() => {
      button.textContent = 'Copy';
      said.textContent = '';
    }, 2000);
  });
}
`;
