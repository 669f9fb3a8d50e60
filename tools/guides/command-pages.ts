// README and the pages of the documentation that have commands.
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { repositoryRoot } from '../repository-root.ts';
import { type CommandBlock, commandBlocks } from './shell-blocks.ts';

/** Generated from the help texts of the command line, whose tests run the commands. */
const generated = 'docs/reference/cli.md';

export type CommandPage = { readonly page: string; readonly blocks: readonly CommandBlock[] };

export function pagesWithCommands(): CommandPage[] {
  return ['README.md', ...globSync('docs/**/*.md', { cwd: repositoryRoot }).toSorted()]
    .filter((page) => page !== generated)
    .map((page) => ({
      page,
      blocks: commandBlocks(readFileSync(join(repositoryRoot, page), 'utf8')),
    }))
    .filter(({ blocks }) => blocks.length > 0);
}
