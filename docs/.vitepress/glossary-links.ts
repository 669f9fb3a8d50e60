// Links each term of the glossary where a page uses it first, so that writers do not have to.
import { readFileSync } from 'node:fs';
import { posix } from 'node:path';
import type { MarkdownOptions } from 'vitepress';

export type MarkdownRenderer = Parameters<NonNullable<MarkdownOptions['config']>>[0];
export type PageEnvironment = { readonly relativePath: string };
/** The members of a markdown-it token that are read here. */
type Inline = { readonly type: string; readonly content: string };

const glossary = 'reference/glossary.md';

/** Words of everyday English, which a link on every page would make harder to read. */
const everydayWords = new Set(
  (
    'Application Cancel Capture Configuration Decline Event Hold Merchant Operation Outcome Problem ' +
    'Provider Refund Release Sale Service State Store Transaction'
  ).split(' '),
);

function readTerms(docs: string): string[] {
  const text = readFileSync(posix.join(docs, glossary), 'utf8');
  return [...text.matchAll(/^## (.+)$/gm)]
    .map(([, term = '']) => term)
    .filter((term) => !everydayWords.has(term));
}

/** Abbreviations match exactly. Other terms may begin with a capital letter, and end with a plural s. */
function patternOf(terms: readonly string[]): RegExp {
  const longestFirst = terms.toSorted((a, b) => b.length - a.length);
  const parts = longestFirst.map((term) =>
    /^[A-Z0-9-]+$/.test(term) ? term : `[${term[0]}${term[0]?.toLowerCase()}]${term.slice(1)}s?`,
  );
  return new RegExp(`(?<![\\w-])(?:${parts.join('|')})(?![\\w-])`);
}

const slugOf = (term: string) => term.toLowerCase().replaceAll(' ', '-');

/** The terms link to the glossary, except in headings, links and code. */
export function linkGlossary(markdown: MarkdownRenderer, docs: string): void {
  const terms = readTerms(docs);
  const pattern = patternOf(terms);

  markdown.core.ruler.push('glossary-links', (state) => {
    // VitePress also parses titles, outside of a page.
    const { relativePath = glossary } = state.env as Partial<PageEnvironment>;
    if (relativePath === glossary || relativePath.startsWith('adr/')) return;
    const address = posix.relative(posix.dirname(relativePath), glossary).replace(/\.md$/, '');
    const unlinkedTerms = new Set(terms);

    const link = (term: string, text: string) => {
      const begin = new state.Token('link_open', 'a', 1);
      begin.attrs = [
        ['href', `${address.startsWith('.') ? '' : './'}${address}#${slugOf(term)}`],
        ['class', 'term'],
      ];
      const content = new state.Token('text', '', 0);
      content.content = text;
      return [begin, content, new state.Token('link_close', 'a', -1)];
    };

    /** Splits a text at its first term that the page has not linked yet. */
    const split = (token: Inline): unknown[] => {
      const match = pattern.exec(token.content);
      if (match === null) return [token];
      const [text] = match;
      const term = terms.find((each) =>
        [each, `${each}s`].some((form) => form.toLowerCase() === text.toLowerCase()),
      );
      const isFirstUse = term !== undefined && unlinkedTerms.delete(term);
      const end = match.index + text.length;
      const toText = (content: string) =>
        Object.assign(new state.Token('text', '', 0), { content });
      const rest = split(toText(token.content.slice(end)));
      return isFirstUse
        ? [toText(token.content.slice(0, match.index)), ...link(term, text), ...rest]
        : [toText(token.content.slice(0, end)), ...rest];
    };

    for (const [index, token] of state.tokens.entries()) {
      if (token.type !== 'inline' || state.tokens[index - 1]?.type === 'heading_open') continue;
      let depth = 0;
      token.children = (token.children ?? []).flatMap((child) => {
        depth += child.type === 'link_open' ? 1 : child.type === 'link_close' ? -1 : 0;
        return child.type === 'text' && depth === 0 ? (split(child) as (typeof child)[]) : [child];
      });
    }
  });
}
