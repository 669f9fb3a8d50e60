// Asks axe-core whether everybody can use a page, in light and in dark, wide and narrow.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { Page } from 'playwright-core';

const axe = readFileSync(fileURLToPath(import.meta.resolve('axe-core/axe.min.js')), 'utf8');

type Violation = {
  readonly id: string;
  readonly help: string;
  readonly nodes: readonly { readonly html: string; readonly failureSummary: string }[];
};

function told({ id, help, nodes }: Violation): string {
  return `${id}: ${help}\n${nodes.map(({ html, failureSummary }) => `  ${html}\n  ${failureSummary}`).join('\n')}`;
}

/** Everything in light; in dark what colours decide, since the rest cannot differ. */
const runs = [
  ['light', '{}'],
  ['dark', '{ runOnly: ["color-contrast", "link-in-text-block"] }'],
] as const;
const wide = { width: 1280, height: 900 };
/** WCAG 2.2, 1.4.10: nothing has to be scrolled sideways at this width. */
const narrow = { width: 320, height: 640 };

/** @param name tells a page apart from the others in what fails */
export async function assertAccessible(page: Page, name: string): Promise<void> {
  await page.setViewportSize(narrow);
  const overflow = await page.evaluate(
    'document.documentElement.scrollWidth - document.documentElement.clientWidth',
  );
  assert.equal(overflow, 0, `${name} is wider than a small phone`);
  await page.setViewportSize(wide);
  // As the browser's own tool would: the policy of the page holds for the page.
  await page.evaluate(axe);
  for (const [colorScheme, options] of runs) {
    await page.emulateMedia({ colorScheme });
    const { violations, passes } = (await page.evaluate(`axe.run(${options})`)) as {
      violations: Violation[];
      passes: unknown[];
    };
    assert.ok(passes.length > (colorScheme === 'light' ? 10 : 0), `${name}: axe saw a page`);
    assert.deepEqual(violations.map(told), [], `${name} in ${colorScheme}`);
  }
}
