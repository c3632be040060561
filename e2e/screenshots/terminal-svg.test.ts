import { describe, expect, it } from 'vitest';
import { contrast } from '../harness/browser/contrast.ts';
import type { Line } from './terminal-screen.ts';
import { terminalSvg, THEMES } from './terminal-svg.ts';

const LINES: Line[] = [
  [
    { text: 'A  NAME  ', style: {} },
    { text: 'STATE', style: { isBold: true } },
  ],
  [],
  [{ text: '  a < b & "c"', style: { color: 'red' } }],
];
const draw = (theme: 'light' | 'dark') =>
  terminalSvg(LINES, { title: 'vmcp <status>', columns: 80, theme: THEMES[theme] });

describe('terminalSvg', () => {
  it('draws each part at its column, with its width', () => {
    const texts = draw('light')
      .split('\n')
      .filter((line) => line.includes('textLength'));
    expect(texts).toEqual([
      '<text x="16" y="63" textLength="7.8">A</text>',
      '<text x="39.4" y="63" textLength="31.2">NAME</text>',
      '<text x="86.2" y="63" textLength="39" font-weight="600">STATE</text>',
      '<text x="31.6" y="101" textLength="85.8" fill="#cf222e">a &lt; b &amp; &quot;c&quot;</text>',
    ]);
  });

  it('has a title and the size of its lines', () => {
    expect(draw('light')).toContain('viewBox="0 0 656 123" width="656" height="123"');
    expect(draw('light')).toContain('<title>vmcp &lt;status&gt;</title>');
  });

  it.each(['light', 'dark'] as const)('has readable colours in %s', (name) => {
    const { background, text, dim, colors } = THEMES[name];
    const faint = [text, dim, ...Object.values(colors)].filter((color) => contrast(color, background) < 4.5);
    expect(faint).toEqual([]);
  });
});
