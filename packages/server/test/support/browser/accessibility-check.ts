// Checks the accessibility of a page with axe-core, in light and dark, wide and narrow.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { Page } from 'playwright-core';
import { eventually } from '../wait-for-condition.ts';

const axe = readFileSync(fileURLToPath(import.meta.resolve('axe-core/axe.min.js')), 'utf8');

type Violation = {
  readonly id: string;
  readonly help: string;
  readonly nodes: readonly { readonly html: string; readonly failureSummary: string }[];
};

function describeViolation({ id, help, nodes }: Violation): string {
  return `${id}: ${help}\n${nodes.map(({ html, failureSummary }) => `  ${html}\n  ${failureSummary}`).join('\n')}`;
}

/**
 * Axe reports the element of every violation, but only one example of each pass, because listing
 * all passes is slow. It preloads no media: only content with autoplay needs that.
 */
const axeOptions = `resultTypes: ['violations'], selectors: false, preload: false`;
const hasMedia = `document.querySelector('audio, video') !== null`;

/**
 * Runs all rules in light, and only the colour rules in dark, because the other results are the
 * same.
 */
const axeRuns = [
  ['light', ''],
  ['dark', 'runOnly: ["color-contrast", "link-in-text-block"],'],
] as const;
const wide = { width: 1280, height: 900 };
/** WCAG 2.2, 1.4.10: at this width a page needs no horizontal scrolling. */
const narrow = { width: 320, height: 640 };

/** Waits for colour transitions to finish; endless animations are excluded. */
const transitionsEnd = `Promise.allSettled(document.getAnimations()
  .filter(({ effect }) => Number.isFinite(effect?.getComputedTiming().endTime))
  .map(({ finished }) => finished))`;

const horizontalOverflow =
  'document.documentElement.scrollWidth - document.documentElement.clientWidth';

/** Polls, because the page repositions floating elements shortly after the width changes. */
export const assertNoHorizontalScroll = (page: Page, name: string): Promise<void> =>
  eventually(
    `${name} is no wider than its window`,
    async () => (await page.evaluate(horizontalOverflow)) === 0,
  );

/** Sets light or dark and waits for all transitions to finish. */
export async function setColorScheme(
  page: Page,
  name: string,
  colorScheme: 'light' | 'dark',
): Promise<void> {
  await page.emulateMedia({ colorScheme });
  // The portal page changes its colour scheme in a later render and starts the transition then.
  const hasColorScheme = `[null, '${colorScheme}'].includes(document.documentElement.getAttribute('data-mantine-color-scheme'))`;
  await eventually(
    `${name} in ${colorScheme}`,
    async () => (await page.evaluate(hasColorScheme)) === true,
  );
  await page.evaluate(
    'new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn)))',
  );
  await page.evaluate(transitionsEnd);
}

/** @param name identifies the page in the failure message */
export async function assertAccessible(page: Page, name: string): Promise<void> {
  await page.setViewportSize(narrow);
  await assertNoHorizontalScroll(page, `${name} on a small phone`);
  await page.setViewportSize(wide);
  // The script is injected as by browser developer tools, so the page's content security policy
  // stays on. One injection serves all screens of a page.
  if ((await page.evaluate('typeof axe')) === 'undefined') await page.evaluate(axe);
  assert.equal(await page.evaluate(hasMedia), false, `${name} plays something`);
  for (const [colorScheme, options] of axeRuns) {
    await setColorScheme(page, name, colorScheme);
    const { violations, passes } = (await page.evaluate(
      `axe.run({ ${options} ${axeOptions} })`,
    )) as {
      violations: Violation[];
      passes: unknown[];
    };
    assert.ok(passes.length > (colorScheme === 'light' ? 10 : 0), `${name}: axe saw a page`);
    assert.deepEqual(violations.map(describeViolation), [], `${name} in ${colorScheme}`);
  }
}
