/** Members of a thing on the command line, and edits that lose nothing: read, change, write back. */
import { type Command, Option } from 'commander';
import { membersOf } from '../http/problem-details.ts';
import { fail } from '../runtime/command-error.ts';
import type { Kit } from './command-runner.ts';
import { jsonValue } from './list-options.ts';

export type SetOptions = {
  readonly set?: string[];
  readonly unset?: string[];
  readonly from?: string;
};

const collect = (text: string, before: string[] | undefined) => [...(before ?? []), text];

/** `--set name=value`: JSON where it reads as such and is no bare number, else text. */
function valueOfMember(text: string): unknown {
  if (!/^(?:true|false|null|\{.*\}|\[.*\])$/s.test(text)) return text;
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

/** @param editing with `--unset`, which only makes sense for what is there */
export function setOptions(command: Command, editing: boolean): Command {
  command
    .addOption(
      new Option('-s, --set <name=value>', 'a member; true, null, [] and {} are JSON').argParser(
        collect,
      ),
    )
    .option('--from <file>', 'members as JSON or YAML: @file, or the JSON itself');
  if (editing)
    command.addOption(new Option('--unset <name>', 'takes a member away').argParser(collect));
  return command;
}

export function membersFrom({ set = [], from }: SetOptions): Record<string, unknown> {
  const members: Record<string, unknown> =
    from === undefined ? {} : { ...membersOf(jsonValue(from, '--from')) };
  for (const pair of set) {
    const at = pair.indexOf('=');
    if (at < 1) fail('usage', `“${pair}” is not name=value.`);
    members[pair.slice(0, at)] = valueOfMember(pair.slice(at + 1));
  }
  return members;
}

/** A PUT replaces the whole, so what is there is read first and its version demanded. */
export async function edit(kit: Kit, path: string, options: SetOptions): Promise<unknown> {
  const changes = membersFrom(options);
  const { unset = [] } = options;
  if (Object.keys(changes).length + unset.length === 0)
    fail('usage', 'Nothing is to be changed: --set says what.');
  const { body, etag } = await kit.api().call<Record<string, unknown>>('GET', path);
  const whole = { ...body, ...changes };
  for (const name of unset) delete whole[name];
  const { body: after } = await kit.api().call('PUT', path, { body: whole, etag });
  return after;
}
