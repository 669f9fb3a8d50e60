// Asks axe-core whether everybody can use a page, in light and in dark, wide and narrow.
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

function told({ id, help, nodes }: Violation): string {
  return `${id}: ${help}\n${nodes.map(({ html, failureSummary }) => `  ${html}\n  ${failureSummary}`).join('\n')}`;
}

/**
 * Every fault is told by its element; of what is in order one example, since to name them all takes longer
 * than to look. Nothing is fetched once more: what plays by itself would need it.
 */
const telling = `resultTypes: ['violations'], selectors: false, preload: false`;
const plays = `document.querySelector('audio, video') !== null`;

/** Everything in light; in dark what colours decide, since the rest cannot differ. */
const runs = [
  ['light', ''],
  ['dark', 'runOnly: ["color-contrast", "link-in-text-block"],'],
] as const;
const wide = { width: 1280, height: 900 };
/** WCAG 2.2, 1.4.10: nothing has to be scrolled sideways at this width. */
const narrow = { width: 320, height: 640 };

/** Colours on their way from light to dark are nobody's; what moves for ever does not end. */
const settled = `Promise.allSettled(document.getAnimations()
  .filter(({ effect }) => Number.isFinite(effect?.getComputedTiming().endTime))
  .map(({ finished }) => finished))`;

const overflow = 'document.documentElement.scrollWidth - document.documentElement.clientWidth';

/** What floats over a page is put in its place a moment after the page has become narrow. */
export const assertNotSideways = (page: Page, name: string): Promise<void> =>
  eventually(
    `${name} is no wider than its window`,
    async () => (await page.evaluate(overflow)) === 0,
  );

/** Light or dark, once nothing is on its way any more. */
export async function wear(page: Page, name: string, colorScheme: 'light' | 'dark'): Promise<void> {
  await page.emulateMedia({ colorScheme });
  // The portal's page hears of it in a drawing of its own, and begins to fade then.
  const wears = `[null, '${colorScheme}'].includes(document.documentElement.getAttribute('data-mantine-color-scheme'))`;
  await eventually(`${name} in ${colorScheme}`, async () => (await page.evaluate(wears)) === true);
  await page.evaluate(
    'new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn)))',
  );
  await page.evaluate(settled);
}

/** @param name tells a page apart from the others in what fails */
export async function assertAccessible(page: Page, name: string): Promise<void> {
  await page.setViewportSize(narrow);
  await assertNotSideways(page, `${name} on a small phone`);
  await page.setViewportSize(wide);
  // As the browser's own tool would: the policy of the page holds for the page.
  // Once for a page, whose screens are many.
  if ((await page.evaluate('typeof axe')) === 'undefined') await page.evaluate(axe);
  assert.equal(await page.evaluate(plays), false, `${name} plays something`);
  for (const [colorScheme, options] of runs) {
    await wear(page, name, colorScheme);
    const { violations, passes } = (await page.evaluate(`axe.run({ ${options} ${telling} })`)) as {
      violations: Violation[];
      passes: unknown[];
    };
    assert.ok(passes.length > (colorScheme === 'light' ? 10 : 0), `${name}: axe saw a page`);
    assert.deepEqual(violations.map(told), [], `${name} in ${colorScheme}`);
  }
}
