/** Options that several commands have, and how their values are read. */
import { type Command, InvalidArgumentError, Option } from 'commander';
import { parse as parseYaml } from 'yaml';
import { fail } from '../runtime/command-error.ts';
import { readNamed } from '../session/private-files.ts';

export function wholeNumber(text: string): number {
  if (!/^[1-9][0-9]{0,8}$/.test(text))
    throw new InvalidArgumentError('It has to be a whole number above 0.');
  return Number(text);
}

export function words(text: string, before: string[] | undefined): string[] {
  return [
    ...(before ?? []),
    ...text
      .split(',')
      .map((word) => word.trim())
      .filter((word) => word !== ''),
  ];
}

const shownUsual = 50;

export type ListOptions = { readonly limit: number; readonly all?: boolean };

/** Of a list: how much of it. */
export function listOptions(command: Command): Command {
  return command
    .addOption(
      new Option('-n, --limit <count>', 'how many at most')
        .argParser(wholeNumber)
        .default(shownUsual),
    )
    .option('--all', 'all of them, however many');
}

/** A value of the command line: JSON, or `@file` with JSON or YAML. */
export function jsonValue(text: string, what: string): unknown {
  const source = text.startsWith('@') ? readNamed(text.slice(1)) : text;
  try {
    return text.startsWith('@') && /\.ya?ml$/.test(text) ? parseYaml(source) : JSON.parse(source);
  } catch (error) {
    return fail('usage', `${what} is no JSON: ${(error as Error).message}`);
  }
}
