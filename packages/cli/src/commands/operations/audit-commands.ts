/** `switchyard audit`: lists, exports and verifies the audit chain. */

import { once } from 'node:events';
import { createReadStream, createWriteStream, existsSync } from 'node:fs';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import {
  type AuditCheckpoint,
  type AuditKey,
  type AuditRecord,
  type ChainReport,
  defined,
  verifyChain,
} from '@switchyard/contract';
import type { CommandGroup } from '../../command-line/command-definition.ts';
import { memberOption, option } from '../../command-line/command-option.ts';
import type { CommandContext } from '../../command-line/command-runner.ts';
import { column } from '../../command-line/list-output.ts';
import { membersOf } from '../../http/problem-details.ts';
import { CommandError, describeFileError, fail } from '../../runtime/command-error.ts';
import type { ExitName } from '../../runtime/exit-codes.ts';
import { readInputFile } from '../../session/private-files.ts';
import { verifySignedDocument } from './verify-signed-document.ts';

type TimeRange = { readonly from?: string; readonly to?: string };
type ExportOptions = TimeRange & {
  readonly out?: string;
  readonly after?: string;
  readonly continue?: boolean;
};
type VerifyOptions = {
  readonly file?: string;
  readonly checkpoints?: string;
  readonly keys?: string;
  readonly document?: string;
  readonly after?: string;
  readonly previousHash?: string;
  readonly last?: string;
};

const path = '/audit/v1';
const failuresMax = 5;

function parseLine(line: string, where: string): AuditRecord {
  try {
    return JSON.parse(line) as AuditRecord;
  } catch {
    return fail('refused', `${where} contains a line that is not JSON: ${line.slice(0, 60)}`);
  }
}

async function* readLines(stream: Readable): AsyncGenerator<string> {
  for await (const line of createInterface({
    input: stream,
    crlfDelay: Number.POSITIVE_INFINITY,
  })) {
    if (line.trim() !== '') yield line;
  }
}

/**
 * The records of the server in the order of the chain. An interrupted download continues after the last
 * complete line.
 */
async function* downloadRecords(
  context: CommandContext,
  query: TimeRange & { after?: string | undefined },
): AsyncGenerator<AuditRecord> {
  let after = query.after;
  for (let failures = 0; ; ) {
    let hasProgress = false;
    try {
      const { stream } = await context.api().open(`${path}/export`, { query: { ...query, after } });
      for await (const line of readLines(stream)) {
        const record = parseLine(line, 'The export');
        hasProgress = true;
        after = String(record.sequence);
        yield record;
      }
      if (stream.complete) return;
    } catch (error) {
      const code = (error as NodeJS.ErrnoException).code ?? '';
      const isConnectionError = ['ECONNRESET', 'ERR_STREAM_PREMATURE_CLOSE'].includes(code);
      if (
        !isConnectionError &&
        !(error instanceof CommandError && error.exit === 'refused' && hasProgress)
      )
        throw error;
    }
    failures = hasProgress ? 0 : failures + 1;
    if (failures > failuresMax)
      fail(
        'unreachable',
        `The download of the audit was interrupted ${failuresMax + 1} times. Try again later.`,
      );
    context.output.printNote(
      'The download was interrupted; continuing after the last complete record.',
    );
  }
}

/** The sequence of the last complete record of a file, and where its line ends. */
async function findLastRecord(file: string): Promise<{ sequence: number; bytes: number }> {
  let bytes = 0;
  let sequence = 0;
  const text = createReadStream(file);
  let rest = Buffer.alloc(0);
  for await (const part of text as AsyncIterable<Buffer>) {
    rest = Buffer.concat([rest, part]);
    for (let end = rest.indexOf(10); end >= 0; end = rest.indexOf(10)) {
      sequence = parseLine(rest.subarray(0, end).toString('utf8'), file).sequence;
      bytes += end + 1;
      rest = rest.subarray(end + 1);
    }
  }
  return { sequence, bytes };
}

async function exportAudit(
  context: CommandContext,
  _args: string[],
  options: ExportOptions,
): Promise<void> {
  const { out, from, to } = options;
  const isContinued = options.continue === true && out !== undefined && existsSync(out);
  const last = isContinued ? await findLastRecord(out) : undefined;
  const after = last === undefined ? options.after : String(last.sequence);
  const file =
    out === undefined
      ? undefined
      : createWriteStream(
          out,
          last === undefined ? { mode: 0o600 } : { flags: 'r+', start: last.bytes },
        );
  if (file !== undefined)
    await once(file, 'open').catch((error: Error) => fail('usage', `${out}: ${error.message}`));
  const progress = context.output.startProgress('Audit records');
  let count = 0;
  const range = defined({ from, to });
  for await (const record of downloadRecords(context, { ...range, after })) {
    count += 1;
    progress.step(count);
    if (file === undefined) await context.output.printJsonLine(record);
    else if (!file.write(`${JSON.stringify(record)}\n`)) await once(file, 'drain');
  }
  progress.end();
  if (file === undefined) return undefined;
  file.end();
  await once(file, 'finish');
  context.output.printResult({ file: out, records: count }, () => `${count} records in ${out}\n`);
}

async function* readFileRecords(file: string): AsyncGenerator<AuditRecord> {
  const stream = createReadStream(file);
  try {
    for await (const line of readLines(stream)) yield parseLine(line, file);
  } catch (error) {
    if (error instanceof CommandError) throw error;
    fail('usage', `${file} cannot be read: ${describeFileError(error)}.`);
  }
}

function readItems(file: string, member: string): unknown[] {
  let value: unknown;
  try {
    value = JSON.parse(readInputFile(file));
  } catch (error) {
    if (error instanceof CommandError) throw error;
    return fail('usage', `${file} does not contain valid JSON.`);
  }
  const items = Array.isArray(value) ? value : membersOf(value)[member];
  return Array.isArray(items) ? items : fail('usage', `${file} has no list “${member}”.`);
}

async function loadCheckpoints(
  context: CommandContext,
  file: string | undefined,
): Promise<AuditCheckpoint[]> {
  if (file !== undefined) return readItems(file, 'items') as AuditCheckpoint[];
  const loaded: AuditCheckpoint[] = [];
  for await (const checkpoint of context.api().list<AuditCheckpoint>(`${path}/checkpoints`))
    loaded.push(checkpoint);
  return loaded;
}

async function loadKeys(context: CommandContext, file: string | undefined): Promise<AuditKey[]> {
  if (file !== undefined) return readItems(file, 'keys') as AuditKey[];
  return (await context.api().call<{ keys: AuditKey[] }>('GET', `${path}/keys`)).body.keys;
}

function parseSequence(text: string, option: string): number {
  return /^[0-9]{1,15}$/.test(text)
    ? Number(text)
    : fail('usage', `${option} must be a whole number.`);
}

async function verifyDocument(
  context: CommandContext,
  document: string,
  { keys }: VerifyOptions,
): Promise<undefined> {
  const files = await verifySignedDocument(document, await loadKeys(context, keys));
  context.output.printResult(
    { document, files },
    () => `The signature is valid for ${[document, ...files].join(', ')}.\n`,
  );
}

async function verifyAudit(
  context: CommandContext,
  _args: string[],
  options: VerifyOptions,
): Promise<ExitName | undefined> {
  const { file, after, previousHash, last } = options;
  if (options.document !== undefined) return verifyDocument(context, options.document, options);
  const checkpoints = await loadCheckpoints(context, options.checkpoints);
  const keys = await loadKeys(context, options.keys);
  const afterSequence = after === undefined ? 0 : parseSequence(after, '--after');
  const records =
    file === undefined ? downloadRecords(context, defined({ after })) : readFileRecords(file);
  const progress = context.output.startProgress('Verified records');
  async function* withProgress() {
    let count = 0;
    for await (const record of records) {
      count += 1;
      progress.step(count);
      yield record;
    }
  }
  // Only checkpoints after the start can be verified with these records.
  const relevantCheckpoints = checkpoints.filter(({ sequence }) => sequence > afterSequence);
  const report = await verifyChain(withProgress(), relevantCheckpoints, keys, {
    firstSequence: afterSequence + 1,
    ...defined({
      previousHash,
      lastSequence: last === undefined ? undefined : parseSequence(last, '--last'),
    }),
  });
  progress.end();
  return printReport(context, report);
}

function printReport({ output }: CommandContext, report: ChainReport): ExitName | undefined {
  const { records, firstSequence, lastSequence, lastHash, checkpoints, unsignedRecords } = report;
  const range = firstSequence === undefined ? 'none' : `${firstSequence} to ${lastSequence}`;
  if (report.ok) {
    output.printResult(
      report,
      () =>
        `The audit chain is complete and valid.\n${output.formatMembers({ records: `${records} (${range})`, checkpoints, unsignedRecords, lastHash })}`,
    );
    return undefined;
  }
  if (output.json) output.printJson(report);
  const lines = report.faults.map(
    ({ sequence, code, detail }) => `sequence ${sequence}: ${code}, ${detail}`,
  );
  const [first] = report.faults;
  throw new CommandError(
    'refused',
    `The audit chain is broken at sequence ${first?.sequence}: ${first?.code}.`,
    {
      more:
        report.faultCount > lines.length
          ? [...lines, `… and ${report.faultCount - lines.length} more`]
          : lines,
      facts: { code: first?.code, sequence: first?.sequence },
    },
  );
}

export const auditCommands: CommandGroup = {
  group: 'audit',
  summary: 'list, export and verify the audit',
  description:
    'Lists the changes with their authors, and verifies that the audit chain is complete.',
  commands: [
    {
      command: 'list',
      description: 'Lists audit records, the newest first.',
      route: `GET ${path}/records`,
      options: [
        memberOption('--from <time>', 'from this time on', 'from'),
        memberOption('--to <time>', 'before this time', 'to'),
        memberOption(
          '--actor <sub>',
          'subject (sub) of the user or application that made the change',
          'actor',
        ),
        memberOption('--action <action>', 'action, such as merchant.updated', 'action'),
        memberOption(
          '--entity-type <type>',
          'type of the changed resource, such as merchant',
          'entityType',
        ),
        memberOption('--entity-id <id>', 'identifier of the changed resource', 'entityId'),
        memberOption('--request-id <id>', 'identifier of the request', 'requestId'),
        memberOption('--oldest-first', 'list the oldest records first', 'order', {
          value: 'OldestFirst',
        }),
      ],
      columns: [
        column('sequence', 'SEQUENCE', true),
        column('at', 'AT', true),
        'action',
        { title: 'ENTITY', value: (row) => membersOf(row['entity'])['id'] },
        { title: 'BY', value: (row) => membersOf(row['actor'])['clientId'] },
      ],
      examples: ['switchyard audit list --action merchant.updated --from 2026-03-01T00:00:00Z'],
    },
    {
      command: 'export',
      description: 'Exports all records as JSON Lines, in the order of the chain.',
      options: [
        option('-o, --out <file>', 'output file; default: stdout'),
        option('--continue', 'append to the file of --out, after its last record'),
        option('--after <sequence>', 'begin after this record'),
        option('--from <time>', 'from this time on'),
        option('--to <time>', 'before this time'),
      ],
      run: exportAudit,
      examples: ['switchyard audit export --out audit.jsonl --continue'],
    },
    {
      command: 'verify',
      description:
        'Verifies the hashes, links, order and signatures of the chain, or a signed document. If the chain is broken, the exit code is 6, and the message contains the sequence number of the first invalid record.',
      options: [
        option('--file <file>', 'verify this exported file instead of the server'),
        option(
          '--checkpoints <file>',
          'verify with the checkpoints in this file instead of those of the server',
        ),
        option(
          '--keys <file>',
          'verify with the public keys in this file instead of those of the server',
        ),
        option(
          '--document <file>',
          'verify, instead of the chain, a document that the platform has signed in FILE.jws, such as the report of “acquirer certify”, and the files that it names',
          { conflicts: ['file', 'checkpoints', 'after', 'previousHash', 'last'] },
        ),
        option('--after <sequence>', 'verify only the records after this one'),
        option('--previous-hash <hash>', 'expected hash of the record of --after'),
        option('--last <sequence>', 'sequence of the last record that must exist'),
      ],
      run: verifyAudit,
      examples: [
        'switchyard audit verify',
        'switchyard audit verify --file audit.jsonl --checkpoints checkpoints.json --keys keys.json',
        'switchyard audit verify --document certification-north/report.json --keys keys.json',
      ],
    },
  ],
};
