// Markdown of the site beyond plain Markdown: diagrams as SVG, and links that work in the site and in the repository.
import { posix, resolve } from 'node:path';
import { renderMermaidSVG } from 'beautiful-mermaid';
import { linkGlossary, type MarkdownRenderer, type PageEnvironment } from './glossary-links.ts';

const colours = {
  bg: 'var(--vp-c-bg)',
  fg: 'var(--vp-c-text-1)',
  line: 'var(--vp-c-text-3)',
  accent: 'var(--vp-c-brand-1)',
  surface: 'var(--vp-c-bg-soft)',
  border: 'var(--vp-c-border)',
};

/** The styles of the diagrams are in the theme: the pages allow no inline styles. */
function renderDiagram(source: string): string {
  const svg = renderMermaidSVG(source, colours)
    .replace(/<style>[\s\S]*?<\/style>/, '')
    .replace(/ width="([\d.]+)" height="[\d.]+" style="[^"]*"/, ' style="--width: $1px"');
  // It scrolls where the window is narrow, so the keyboard has to reach it.
  return `<figure class="diagram" tabindex="0" aria-label="Diagram" v-pre>${svg}</figure>\n`;
}

/** The reason why no test runs the commands of a block, behind the language of its fence. */
const notRunMark = / not-run="([^"]*)"/;

/** Makes a token of a link a text. */
const withoutTag = { type: 'text', tag: '', nesting: 0, attrs: null } as const;

/** A link to a source file becomes text: the site has no source files. */
function adaptLinks(markdown: MarkdownRenderer): void {
  markdown.core.ruler.push('adapt-links', ({ tokens, env }) => {
    const { relativePath = '' } = env as Partial<PageEnvironment>;
    for (const { children } of tokens) {
      let isRemoved = false;
      for (const token of children ?? []) {
        if (token.type === 'link_close' && isRemoved) {
          Object.assign(token, withoutTag);
          isRemoved = false;
        }
        if (token.type !== 'link_open') continue;
        const href = String(token.attrGet('href'));
        if (/^([a-z]+:|[#/])/.test(href)) continue;
        const path = posix.join(posix.dirname(relativePath), href.split('#')[0] ?? '');
        if (path.startsWith('..')) {
          Object.assign(token, withoutTag);
          isRemoved = true;
        }
      }
    }
  });
}

/** Comments are for writers; the site shows no HTML of Markdown, so it would show them as text. */
function removeComments(markdown: MarkdownRenderer): void {
  markdown.core.ruler.before('normalize', 'remove-comments', (state) => {
    state.src = state.src.replace(/^<!--.*?-->$/gms, '');
  });
}

export function extendMarkdown(markdown: MarkdownRenderer): void {
  removeComments(markdown);
  linkGlossary(markdown, resolve(import.meta.dirname, '..'));
  const renderFence = markdown.renderer.rules.fence;
  markdown.renderer.rules.fence = (tokens, index, ...rest) => {
    const token = tokens[index];
    if (token === undefined) return '';
    if (token.info.trim() === 'mermaid') return renderDiagram(token.content);
    const [mark, reason] = notRunMark.exec(token.info) ?? [];
    token.info = token.info.replace(mark ?? '', '');
    const block = renderFence?.(tokens, index, ...rest) ?? '';
    if (reason === undefined) return block;
    const note = markdown.utils.escapeHtml(`Not run by a test: ${reason}.`);
    return `${block}<p class="not-run" v-pre>${note}</p>\n`;
  };
  adaptLinks(markdown);
}
