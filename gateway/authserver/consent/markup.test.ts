import { expect, it } from 'vitest';
import { escapeHtml, Html, markup } from './markup.ts';

it('escapes what is put in, and not what it made itself', () => {
  const inner = markup`<b title="${'"x"'}">${"<i>'&`"}</b>`;
  expect(markup`<p>${inner}${[inner, inner]}${undefined}</p>`.toString()).toBe(
    `<p>${'<b title="&quot;x&quot;">&lt;i&gt;&#39;&amp;&#96;</b>'.repeat(3)}</p>`,
  );
  expect(markup`${new Html('<hr>')}`.toString()).toBe('<hr>');
});

it('takes its own output for a text like others', () => {
  expect(escapeHtml(escapeHtml('<'))).toBe('&amp;lt;');
});
