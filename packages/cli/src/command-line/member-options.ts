/** Members of a resource as options, and edits: read the resource, change the members, write it back. */
import { membersOf } from '../http/problem-details.ts';
import { fail } from '../runtime/command-error.ts';
import { collectTexts, option } from './command-option.ts';
import type { CommandContext } from './command-runner.ts';
import { parseJsonOption } from './list-options.ts';

export type SetOptions = {
  readonly set?: string[];
  readonly unset?: string[];
  readonly from?: string;
};

/** JSON, if the text matches the pattern; everything else is text. */
export function parseJsonIf(pattern: RegExp, text: string): unknown {
  if (!pattern.test(text)) return text;
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

/** Numbers stay text. */
const jsonOfMembers = /^(?:true|false|null|\{.*\}|\[.*\])$/s;

export const setOptions = [
  option(
    '-s, --set <name=value>',
    'set a field; true, false, null and values in [ ] or { } are read as JSON, other values as text',
    { parse: collectTexts },
  ),
  option('--from <json>', 'fields as JSON, or @file with JSON or YAML'),
];

export const editOptions = [
  ...setOptions,
  option('--unset <name>', 'remove a field', { parse: collectTexts }),
];

export function parseMembers({ set = [], from }: SetOptions): Record<string, unknown> {
  const members: Record<string, unknown> =
    from === undefined ? {} : { ...membersOf(parseJsonOption(from, '--from')) };
  for (const pair of set) {
    const index = pair.indexOf('=');
    if (index < 1) fail('usage', `“${pair}” is not of the form name=value.`);
    members[pair.slice(0, index)] = parseJsonIf(jsonOfMembers, pair.slice(index + 1));
  }
  return members;
}

/** A PUT replaces the whole resource: it is read first, and If-Match rejects a change in between. */
export async function editResource(
  context: CommandContext,
  path: string,
  changes: Readonly<Record<string, unknown>>,
  removedMembers: readonly string[] = [],
): Promise<unknown> {
  if (Object.keys(changes).length + removedMembers.length === 0)
    fail('usage', 'The command contains no change. Change fields with --set, --unset or --from.');
  const { body, etag } = await context.api().call<Record<string, unknown>>('GET', path);
  const updated = { ...body, ...changes };
  for (const name of removedMembers) delete updated[name];
  const { body: result } = await context.api().call('PUT', path, { body: updated, etag });
  return result;
}
