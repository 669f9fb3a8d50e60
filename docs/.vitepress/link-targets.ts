// Checks the links of the built pages. The sources have other addresses, so a check of Markdown does not find all faults.
import { existsSync, globSync, readFileSync } from 'node:fs';
import { join, sep } from 'node:path';

const base = '/docs/';
const origin = 'http://site.example';

/** The platform serves these pages itself, below the same address. */
const servedByPlatform = /^(?:api|errors)(?:\/|$)/;

function hasTarget(outDir: string, path: string): boolean {
  if (servedByPlatform.test(path)) return true;
  const pages = [path, `${path}.html`, join(path, 'index.html')];
  return pages.some((page) => /\.\w+$/.test(page) && existsSync(join(outDir, page)));
}

/** @returns each link of a built page that leads to no file of the site, as `page: href` */
export function brokenLinks(outDir: string): string[] {
  return globSync('**/*.html', { cwd: outDir }).flatMap((file) => {
    const page = file.split(sep).join('/');
    const address = new URL(base + page.replace(/(?:index)?\.html$/, ''), origin);
    const hrefs = [...readFileSync(join(outDir, file), 'utf8').matchAll(/<a[^>]* href="([^"]*)"/g)];
    return hrefs.flatMap(([, href = '']) => {
      const target = new URL(href.replaceAll('&amp;', '&'), address);
      if (target.origin !== origin) return [];
      const path = decodeURI(target.pathname);
      const isFound = path.startsWith(base) && hasTarget(outDir, path.slice(base.length));
      return isFound ? [] : [`${page}: ${href}`];
    });
  });
}
