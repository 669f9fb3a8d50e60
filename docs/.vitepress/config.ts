// The documentation site. `npm run docs:build` writes it to docs/.vitepress/dist; the platform serves it at /docs.
import { cpSync, mkdirSync, readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { defineConfig } from 'vitepress';
import { brokenLinks } from './link-targets.ts';
import { extendMarkdown } from './markdown.ts';

const docs = resolve(import.meta.dirname, '..');

type Page = { readonly text: string; readonly link: string };

/** The first heading of a page. */
function titleOf(path: string): string {
  const heading = /^# (.+)$/m.exec(readFileSync(join(docs, path), 'utf8'))?.[1];
  if (heading === undefined)
    throw new Error(`docs/${path} has no heading. Begin the page with "# Title".`);
  return heading.replaceAll('`', '');
}

/** The pages of a folder: first the named ones in this order, then the others by title. */
function pagesOf(folder: string, first: readonly string[] = []): Page[] {
  const names = readdirSync(join(docs, folder))
    .filter((name) => name.endsWith('.md') && name !== 'index.md')
    .map((name) => name.slice(0, -'.md'.length));
  const unknown = first.filter((name) => !names.includes(name));
  if (unknown.length > 0) throw new Error(`docs/${folder} has no page ${unknown.join(', ')}.`);
  const page = (name: string) => ({
    text: titleOf(`${folder}/${name}.md`),
    link: `/${folder}/${name}`,
  });
  const others = names.filter((name) => !first.includes(name)).map(page);
  return [...first.map(page), ...others.toSorted((a, b) => a.text.localeCompare(b.text))];
}

const roles = {
  'merchant-developers': 'Merchant developers',
  'terminal-vendors': 'Terminal vendors',
  'service-providers': 'Service providers',
  acquirers: 'Business staff of acquirers',
  operators: 'Operators',
  'security-officers': 'Security officers',
};

/** Interfaces that a partner implements. */
const interfaceDocuments = [
  { text: 'Provider SPI (OpenAPI)', link: '/docs/reference/provider-spi.json', target: '_self' },
  { text: 'Acquirer SPI (OpenAPI)', link: '/docs/reference/acquirer-spi.json', target: '_self' },
  { text: 'Events (AsyncAPI)', link: '/docs/reference/asyncapi.json', target: '_self' },
];

const sidebar = [
  {
    text: 'Start',
    items: pagesOf('start', ['what-is-switchyard', 'five-minute-tour', 'concepts']),
  },
  { text: 'Tutorials', items: pagesOf('tutorials', ['first-payment']) },
  ...Object.entries(roles).map(([folder, text]) => ({
    text: `How to: ${text}`,
    collapsed: true,
    items: pagesOf(`how-to/${folder}`),
  })),
  {
    text: 'Reference',
    collapsed: true,
    items: [
      { text: 'API reference', link: '/api', target: '_self' },
      ...interfaceDocuments,
      ...pagesOf('reference'),
      { text: 'Specification coverage', link: '/spec-coverage' },
    ],
  },
  {
    text: 'Explanation',
    collapsed: true,
    items: [...pagesOf('explanation', ['architecture']), { text: 'Decisions', link: '/adr/' }],
  },
];

export default defineConfig({
  title: 'Switchyard',
  description: 'The documentation of Switchyard, a payment platform for acquirers',
  base: '/docs/',
  cleanUrls: true,
  head: [['link', { rel: 'icon', href: '/docs/api/assets/mark.svg', type: 'image/svg+xml' }]],
  // `brokenLinks` checks the built pages, also the links to documents for programs.
  ignoreDeadLinks: [/\.json$/],
  markdown: {
    html: false,
    config: extendMarkdown,
    codeTransformers: [
      {
        name: 'no-time-limit',
        // With its default limit, a busy machine colours a long line differently, and a release has other bytes.
        preprocess(_code, options) {
          options.tokenizeTimeLimit = 0;
        },
      },
    ],
  },
  // The index of all words is larger than other files, and is loaded when a person opens the search.
  vite: { build: { chunkSizeWarningLimit: 2000 } },
  themeConfig: {
    search: {
      provider: 'local',
      options: {
        /** The coverage names every word of the platform, and would be the first result for most of them. */
        async _render(source, env, markdown) {
          return env.relativePath === 'spec-coverage.md' ? '' : markdown.renderAsync(source, env);
        },
      },
    },
    outline: [2, 3],
    docFooter: { prev: 'Previous page', next: 'Next page' },
    sidebar,
    nav: [
      { text: 'Start', link: '/start/what-is-switchyard' },
      { text: 'Tutorials', link: '/tutorials/first-payment' },
      { text: 'API', link: '/api', target: '_self' },
      { text: 'Errors', link: '/errors', target: '_self' },
    ],
  },
  /** Documents for programs are downloads beside the pages. */
  buildEnd({ outDir }) {
    const folder = join(docs, 'reference');
    const copies = join(outDir, 'reference');
    mkdirSync(copies, { recursive: true });
    for (const name of readdirSync(folder).filter((each) => each.endsWith('.json'))) {
      cpSync(join(folder, name), join(copies, name));
    }
    const broken = brokenLinks(outDir);
    if (broken.length > 0) throw new Error(`These links lead to no page:\n${broken.join('\n')}`);
  },
});
