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
  }, 90_000);

  const VIEWPORTS = [
    { width: 375, height: 740 },
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
});
