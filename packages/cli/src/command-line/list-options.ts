/** Options of lists, and the parsers of option values. */
import { InvalidArgumentError } from 'commander';
import { parse as parseYaml } from 'yaml';
import { fail } from '../runtime/command-error.ts';
import { readInputFile } from '../session/private-files.ts';
import { option } from './command-option.ts';

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

export const parseMatching =
  (pattern: RegExp, expected: string) =>
  (text: string): string => {
    if (pattern.test(text)) return text;
    throw new InvalidArgumentError(`The value must be ${expected}.`);
  };

export type HostAndPort = { readonly host: string; readonly port: number };

export const parseHostAndPort =
  (example: string) =>
  (text: string): HostAndPort => {
    const [, host = '', port = ''] = /^(\[[0-9a-f:]+\]|[^:]*):(\d{1,5})$/i.exec(text) ?? [];
    if (host !== '' && Number(port) < 65_536) {
      return { host: host.replace(/^\[|\]$/g, ''), port: Number(port) };
    }
    throw new InvalidArgumentError(`Enter a host and a port, such as ${example}.`);
  };

/** @throws CommandError usage */
export function requireHttpUrl(text: string): URL {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  return url !== undefined && /^https?:$/.test(url.protocol)
    ? url
    : fail('usage', `${text} is not a valid URL. Enter one such as https://acquirer.example.`);
}

const defaultLimit = 50;

export type ListOptions = { readonly limit: number; readonly all?: boolean };

export const listOptions = [
  option('-n, --limit <count>', 'maximum number of items', {
    parse: parseWholeNumber,
    default: defaultLimit,
  }),
  option('--all', 'all items, without a limit'),
];

/** Parses an option value: JSON, or `@file` with JSON or YAML. */
export function parseJsonOption(text: string, name: string): unknown {
  const source = text.startsWith('@') ? readInputFile(text.slice(1)) : text;
  const isYaml = text.startsWith('@') && /\.ya?ml$/.test(text);
  try {
    return isYaml ? parseYaml(source) : JSON.parse(source);
  } catch (error) {
    const format = isYaml ? 'YAML' : 'JSON';
    return fail('usage', `${name} is not valid ${format}: ${(error as Error).message}`);
  }
}
