/** `switchyard api`: calls any route of the API with the token, retries and exit codes of the other commands. */
import type { CommandDefinition } from '../../command-line/command-definition.ts';
import { collectTexts, option } from '../../command-line/command-option.ts';
import type { CommandContext } from '../../command-line/command-runner.ts';
import { parseJsonIf } from '../../command-line/member-options.ts';
import type { RequestOptions } from '../../http/api-client.ts';
import { parseJson, problemError } from '../../http/problem-details.ts';
import { fail } from '../../runtime/command-error.ts';
import { readInputFile } from '../../session/private-files.ts';

type ApiOptions = {
  readonly field?: string[];
  readonly query?: string[];
  readonly header?: string[];
  readonly input?: string;
  readonly contentType: string;
  readonly paginate?: boolean;
};

const methods = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'];

function splitPair(text: string, separator: string): [string, string] {
  const at = text.indexOf(separator);
  if (at < 1) fail('usage', `“${text}” is not of the form name${separator}value.`);
  return [text.slice(0, at).trim(), text.slice(at + 1).trim()];
}

const parsePairs = (texts: readonly string[] | undefined, separator: string) =>
  Object.fromEntries((texts ?? []).map((text) => splitPair(text, separator)));

const jsonOfFields = /^(?:true|false|null|-?[0-9]+|\{.*\}|\[.*\])$/s;

async function readInput({ environment }: CommandContext, input: string): Promise<string> {
  if (input !== '-') return readInputFile(input);
  const parts: Buffer[] = [];
  for await (const part of environment.stdin as AsyncIterable<Buffer>) parts.push(part);
  return Buffer.concat(parts).toString('utf8');
}

async function parseRequestOptions(
  context: CommandContext,
  options: ApiOptions,
): Promise<RequestOptions> {
  const { field, input, contentType } = options;
  if (field !== undefined && input !== undefined)
    fail('usage', '--field and --input cannot be used together.');
  const head = { query: parsePairs(options.query, '='), headers: parsePairs(options.header, ':') };
  if (input !== undefined)
    return { ...head, raw: { type: contentType, bytes: await readInput(context, input) } };
  if (field === undefined) return head;
  const members = Object.entries(parsePairs(field, '=')).map(([name, text]) => [
    name,
    parseJsonIf(jsonOfFields, text),
  ]);
  return { ...head, body: Object.fromEntries(members) };
}

async function request(
  context: CommandContext,
  [verb = '', path = '']: string[],
  options: ApiOptions,
): Promise<void> {
  const method = verb.toUpperCase();
  if (!methods.includes(method))
    fail('usage', `“${verb}” is not an HTTP method. Use one of: ${methods.join(', ')}.`);
  if (!path.startsWith('/'))
    fail('usage', `The path “${path}” must begin with a slash, such as /provisioning/v2/stores.`);
  const call = await parseRequestOptions(context, options);
  if (options.paginate) {
    for await (const item of context.api().list(path, call.query))
      await context.output.printJsonLine(item);
    return;
  }
  const answer = await context.api().raw(method, path, call);
  if (answer.status < 200 || answer.status > 299) throw problemError(answer);
  const json = parseJson(answer.body);
  if (json !== undefined) context.output.printJson(json);
  else await context.output.writeBytes(answer.body);
}

export const apiCommand: CommandDefinition = {
  command: 'api <method> <path>',
  summary: 'call any route of the API',
  description: 'Calls any route of the API with your access token and prints the response body.',
  options: [
    option(
      '-f, --field <name=value>',
      'set a field of the JSON body; whole numbers, true, false, null and values in [ ] or { } are read as JSON',
      { parse: collectTexts },
    ),
    option('--query <name=value>', 'add a query parameter', { parse: collectTexts }),
    option('-H, --header <name:value>', 'add a request header', {
      parse: collectTexts,
    }),
    option('--input <file>', 'send this file as the body; - reads standard input'),
    option('--content-type <type>', 'media type of --input', {
      default: 'application/json',
    }),
    option('--paginate', 'print all items of a list as JSON Lines'),
  ],
  run: request,
  examples: [
    'switchyard api GET /provisioning/v2/merchants --query name=caf',
    'switchyard api POST /provisioning/v2/stores -f merchantId=0198… -f name="Rue des Martyrs"',
    'switchyard api GET /audit/v1/records --paginate',
    'switchyard api POST /provisioning/v2/bulk --input devices.jsonl --content-type application/jsonl',
  ],
};
