/** Options of lists, and the parsers of option values. */
import { type Command, InvalidArgumentError, Option } from 'commander';
import { parse as parseYaml } from 'yaml';
import { fail } from '../runtime/command-error.ts';
import { readInputFile } from '../session/private-files.ts';

export function parseWholeNumber(text: string): number {
  if (!/^[1-9][0-9]{0,8}$/.test(text))
    throw new InvalidArgumentError('Enter a whole number above 0.');
  return Number(text);
}

export function parseCommaList(text: string, before: string[] | undefined): string[] {
  return [
    ...(before ?? []),
    ...text
      .split(',')
      .map((word) => word.trim())
      .filter((word) => word !== ''),
  ];
}

const defaultLimit = 50;

export type ListOptions = { readonly limit: number; readonly all?: boolean };

export function addListOptions(command: Command): Command {
  return command
    .addOption(
      new Option('-n, --limit <count>', 'maximum number of items')
        .argParser(parseWholeNumber)
        .default(defaultLimit),
    )
    .option('--all', 'all items, without a limit');
}

/** Parses an option value: JSON, or `@file` with JSON or YAML. */
export function parseJsonOption(text: string, name: string): unknown {
  const source = text.startsWith('@') ? readInputFile(text.slice(1)) : text;
  try {
    return text.startsWith('@') && /\.ya?ml$/.test(text) ? parseYaml(source) : JSON.parse(source);
  } catch (error) {
    return fail('usage', `${name} is not valid JSON: ${(error as Error).message}`);
  }
}
