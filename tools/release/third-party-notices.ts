// Writes the licences of the packages of others in a release, and refuses a licence that is not allowed.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { ProductionPackage } from './production-packages.ts';

/** Licences that allow distribution in an Apache-2.0 product, as SPDX names them. */
const allowedLicenses: ReadonlySet<string> = new Set([
  '0BSD',
  'Apache-2.0',
  'BSD-2-Clause',
  'BSD-3-Clause',
  'BlueOak-1.0.0',
  'CC0-1.0',
  'ISC',
  'MIT',
  'MIT-0',
  'Unlicense',
]);

const licenseFile = /^(?:licen[cs]e|copying|notice)/i;
const rule = '-'.repeat(80);

/** An expression with parentheses inside is refused, so that a person reads it. */
export function isAllowedLicense(expression: string): boolean {
  return expression
    .replace(/^\((.*)\)$/, '$1')
    .split(' OR ')
    .some((choice) => choice.split(' AND ').every((license) => allowedLicenses.has(license)));
}

function readLicenseTexts(folder: string): string {
  return readdirSync(folder, { withFileTypes: true })
    .filter((entry) => entry.isFile() && licenseFile.test(entry.name))
    .map(({ name }) => name)
    .toSorted()
    .map((name) => readFileSync(join(folder, name), 'utf8').replaceAll('\r\n', '\n').trim())
    .join('\n\n');
}

/**
 * @param root the folder with `node_modules`
 * @throws Error with the packages whose licence is not allowed
 */
export function createThirdPartyNotices(
  root: string,
  packages: readonly ProductionPackage[],
): string {
  const refused = packages.filter(({ license }) => !isAllowedLicense(license));
  if (refused.length > 0) {
    const lines = refused.map(({ name, version, license }) => `${name} ${version}: ${license}`);
    throw new Error(
      `These licences are not in the list of tools/release/third-party-notices.ts:\n${lines.join('\n')}`,
    );
  }
  // Packages of one author often have the same text, which appears once.
  const packagesByText = new Map<string, string[]>();
  for (const { path, name, version, license } of packages) {
    const text = readLicenseTexts(join(root, path));
    const title = `${name} ${version} (${license})`;
    const titles = packagesByText.get(text) ?? [];
    if (!titles.includes(title)) packagesByText.set(text, [...titles, title]);
  }
  const sections = [...packagesByText]
    .map(([text, titles]) => ({ titles: titles.toSorted().join('\n'), text }))
    .toSorted((one, other) => (one.titles < other.titles ? -1 : 1))
    .map(({ titles, text }) => {
      const licenseText = text === '' ? 'The package contains no text of its licence.' : text;
      return `${rule}\n${titles}\n${rule}\n\n${licenseText}\n`;
    });
  return `Switchyard contains these packages, under their own licences.\n\n${sections.join('\n')}`;
}
