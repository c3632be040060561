import type { Page } from 'playwright-core';
import { beforeAll, describe, expect, it } from 'vitest';
import { hasChromium, startChromium } from '../../../e2e/harness/browser/chromium.ts';
import { blockScope } from '../../../e2e/harness/scope.ts';
import { consentPage } from './consent-page.ts';
import { QUESTIONS } from './testdata/questions.ts';

const scope = blockScope();
let page: Page;

interface Viewport {
  readonly width: number;
  readonly height: number;
}

interface Box {
  readonly top: number;
  readonly bottom: number;
  readonly left: number;
  readonly right: number;
}

/** Opens a consent page without scrolling, and measures these elements in the viewport. */
async function boxesOf(question: keyof typeof QUESTIONS, viewport: Viewport, selectors: readonly string[]) {
  await page.setViewportSize(viewport);
  await page.setContent(consentPage(QUESTIONS[question]).body);
  return page.evaluate<Box[]>(
    `${JSON.stringify(selectors)}.map((one) => document.querySelector(one).getBoundingClientRect().toJSON())`,
  );
}

describe.runIf(hasChromium)('the consent page in Chromium', () => {
  beforeAll(async () => {
    page = await (await startChromium(scope)).newPage();
  });

  const VIEWPORTS = [
    { width: 375, height: 740 },
    { width: 390, height: 844 },
    { width: 1280, height: 900 },
  ];
  const cases = VIEWPORTS.flatMap((viewport) =>
    (['document', 'loopback', 'app', 'long', 'odd'] as const).map((name) => [name, viewport] as const),
  );

  it.each(cases)('shows the buttons of %s without scrolling: %j', async (name, viewport) => {
    const buttons = await boxesOf(name, viewport, ['[value=approve]', '[value=deny]']);
    for (const { top, bottom, left, right } of buttons) {
      expect(top).toBeGreaterThan(0);
      expect(bottom).toBeLessThanOrEqual(viewport.height);
      expect(left).toBeGreaterThanOrEqual(0);
      expect(right).toBeLessThanOrEqual(viewport.width);
    }
    expect(buttons[0]?.top).toBe(buttons[1]?.top);
  });

  it.each(cases.filter(([name]) => name !== 'odd'))(
    'shows the application and the target of %s above the buttons: %j',
    async (name, viewport) => {
      const [heading, target, answers] = await boxesOf(name, viewport, ['h1', '.target', 'form']);
      expect(heading?.top).toBeGreaterThan(0);
      expect(target?.bottom).toBeLessThanOrEqual(answers?.top ?? 0);
    },
  );

  it.each(['document', 'loopback', 'app', 'long'] as const)('shows all of %s at 1280 by 900', async (name) => {
    const selectors = ['[aria-labelledby=scopes]', '[aria-labelledby=providers]', 'form', 'footer'];
    const [scopes, providers, answers, footer] = await boxesOf(name, { width: 1280, height: 900 }, selectors);
    expect(Math.max(scopes?.bottom ?? 900, providers?.bottom ?? 900)).toBeLessThanOrEqual(answers?.top ?? 0);
    expect(footer?.bottom).toBeLessThanOrEqual(900);
  });

  it.each(Object.keys(QUESTIONS) as (keyof typeof QUESTIONS)[])(
    'covers nothing of %s with the buttons at 1280 by 900 and 200 percent',
    async (name) => {
      const zoomed = { width: 640, height: 450 };
      const [providers, answers] = await boxesOf(name, zoomed, ['[aria-labelledby=providers]', 'form']);
      expect(providers?.bottom).toBeLessThanOrEqual(answers?.top ?? 0);
      expect(await page.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(zoomed.width);
      await page.keyboard.press('Tab');
      const focused = await page.evaluate<Box>('document.activeElement.getBoundingClientRect().toJSON()');
      expect(focused.bottom).toBeLessThanOrEqual(zoomed.height);
      expect(await page.evaluate('document.activeElement.value')).toBe('approve');
    },
  );
});
