/** Any other route: method, path, members; signed in, with the retries and exit codes of every command. */
import { type Command, Option } from 'commander';
import type { Kit, Runner } from '../../command-line/command-runner.ts';
import type { Call } from '../../http/api-client.ts';
import { problemFault, readJson } from '../../http/problem-details.ts';
import { fail } from '../../runtime/command-error.ts';
import { readNamed } from '../../session/private-files.ts';

type ApiOptions = {
  readonly field?: string[];
  readonly query?: string[];
  readonly header?: string[];
  readonly input?: string;
  readonly contentType: string;
  readonly paginate?: boolean;
};

const methods = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'];
const collect = (text: string, before: string[] | undefined) => [...(before ?? []), text];

function pairOf(text: string, sign: string): [string, string] {
  const at = text.indexOf(sign);
  if (at < 1) fail('usage', `“${text}” is not name${sign}value.`);
  return [text.slice(0, at).trim(), text.slice(at + 1).trim()];
}

const pairsOf = (texts: readonly string[] | undefined, sign: string) =>
  Object.fromEntries((texts ?? []).map((text) => pairOf(text, sign)));

/** true, false, null, whole numbers, lists and objects are themselves; everything else is text. */
function memberOf(text: string): unknown {
  if (!/^(?:true|false|null|-?[0-9]+|\{.*\}|\[.*\])$/s.test(text)) return text;
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

async function readInput({ world }: Kit, input: string): Promise<string> {
  if (input !== '-') return readNamed(input);
  const parts: Buffer[] = [];
  for await (const part of world.stdin as AsyncIterable<Buffer>) parts.push(part);
  return Buffer.concat(parts).toString('utf8');
}

async function callOf(kit: Kit, options: ApiOptions): Promise<Call> {
  const { field, input, contentType } = options;
  if (field !== undefined && input !== undefined)
    fail('usage', '--field and --input exclude each other.');
  const head = { query: pairsOf(options.query, '='), headers: pairsOf(options.header, ':') };
  if (input !== undefined)
    return { ...head, raw: { type: contentType, bytes: await readInput(kit, input) } };
  if (field === undefined) return head;
  const members = Object.entries(pairsOf(field, '=')).map(([name, text]) => [name, memberOf(text)]);
  return { ...head, body: Object.fromEntries(members) };
}

async function request(
  kit: Kit,
  [verb = '', path = '']: string[],
  options: ApiOptions,
): Promise<undefined> {
  const method = verb.toUpperCase();
  if (!methods.includes(method)) fail('usage', `“${verb}” is no method.`);
  if (!path.startsWith('/')) fail('usage', 'The path begins with a slash.');
  const call = await callOf(kit, options);
  if (options.paginate) {
    for await (const item of kit.api().list(path, call.query)) await kit.screen.line(item);
    return undefined;
  }
  const answer = await kit.api().raw(method, path, call);
  if (answer.status < 200 || answer.status > 299) throw problemFault(answer);
  const json = readJson(answer.body);
  if (json !== undefined) kit.screen.document(json);
  else await kit.screen.bytes(answer.body);
  return undefined;
}

export function addApiCommand(program: Command, { act }: Runner): void {
  program
    .command('api <method> <path>')
    .summary('call any other route')
    .description('Calls any route of the API, signed in, and prints the body of its answer.')
    .option(
      '-f, --field <name=value>',
      'a member of a JSON body; true, 7, [] and {} are JSON',
      collect,
    )
    .option('--query <name=value>', 'a query parameter', collect)
    .option('-H, --header <name:value>', 'a header', collect)
    .option('--input <file>', 'the body as it is; - reads standard input')
    .addOption(new Option('--content-type <type>', 'of --input').default('application/json'))
    .option('--paginate', 'every item of a list, as JSON Lines')
    .addHelpText(
      'after',
      `
Examples:
  $ switchyard api GET /provisioning/v2/merchants --query name=caf
  $ switchyard api POST /provisioning/v2/stores -f merchantId=0198… -f name="Rue des Martyrs"
  $ switchyard api GET /audit/v1/records --paginate
  $ switchyard api POST /provisioning/v2/bulk --input devices.jsonl --content-type application/jsonl`,
    )
    .action(act<ApiOptions>((kit, args, options) => request(kit, args, options)));
}
