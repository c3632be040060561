import { expect, it } from 'vitest';
import { escapeHtml, Html, markup } from './markup.ts';

it('escapes strings, but not its own fragments', () => {
  const inner = markup`<b title="${'"x"'}">${"<i>'&`"}</b>`;
  expect(markup`<p>${inner}${[inner, inner]}${undefined}</p>`.toString()).toBe(
    `<p>${'<b title="&quot;x&quot;">&lt;i&gt;&#39;&amp;&#96;</b>'.repeat(3)}</p>`,
  );
  expect(markup`${new Html('<hr>')}`.toString()).toBe('<hr>');
});

it('escapes its own output when it is passed as a string', () => {
  expect(escapeHtml(escapeHtml('<'))).toBe('&amp;lt;');
});
