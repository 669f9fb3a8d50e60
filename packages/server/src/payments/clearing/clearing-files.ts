// Makes, shows and acknowledges clearing files; what an acknowledgement says is settled by a job.
import { createHash } from 'node:crypto';
import {
  type ClearingFile,
  type ClearingFileLine,
  type ClearingFileRequest,
  defined,
  errorCodes,
  Refusal,
  refuse,
} from '@switchyard/contract';
import {
  AcknowledgementFault,
  type ClearingAcknowledgement,
  type ClearingLine,
  referenceClearing,
} from '../../acquiring/index.ts';
import type { Caller, FoundPage, PageRequest } from '../../http/index.ts';
import { isoTime, type Metrics } from '../../platform/index.ts';
import type { PaymentsDeps } from '../deps.ts';
import { type Gauges, measureLinks, secondsSince } from '../runtime/link-gauges.ts';
import { createSweep, type Sweep } from '../runtime/periodic-task.ts';
import { clearingJob } from './apply-acknowledgement.ts';
import type { ClearingStore, FileRow, LineRow, OpenOfLink } from './clearing-sql.ts';

export type FilesDeps = Pick<PaymentsDeps, 'clock' | 'ids' | 'jobs' | 'log' | 'provisioning'> & {
  clearing: ClearingStore;
};

/** Lines of a file: what is due beyond goes into the next one. */
const linesMax = 50_000;
const pageSize = 1000;
const dueLinksMax = 100;
const sweepEveryMs = 10_000;

const headerOf = ({ fileId, linkId, institutionId, sequence, createdAt }: FileRow) => ({
  fileId,
  linkId,
  institutionId,
  sequence,
  createdAt,
});

function viewFile(row: FileRow): ClearingFile {
  return {
    clearingFileId: row.fileId,
    acquirerLink: row.linkId,
    sequence: row.sequence,
    fileName: referenceClearing.nameOf(headerOf(row)),
    state: row.state,
    lines: row.lineCount,
    amounts: Object.entries(row.amounts)
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([currency, amount]) => ({ currency, amount })),
    ...(row.state === 'Made' ? {} : { accepted: row.accepted, rejected: row.rejected }),
    ...defined({ reason: row.reason }),
    createdAt: row.createdAt,
    ...defined({ acknowledgedAt: row.acknowledgedAt }),
  };
}

function viewLine(row: LineRow): ClearingFileLine {
  const { line, transactionId, number, settlementDate, amount, currency, status, code } = row;
  return {
    line,
    transactionId,
    operationNumber: number,
    settlementDate,
    amount,
    currency,
    status,
    ...defined({ code }),
  };
}

/** Files hold the captures of all merchants of a link. */
function organizationOf({ organizationId, merchantId, entityType }: Caller): string {
  if (merchantId !== undefined || entityType === 'merchant') {
    refuse('permission_denied', 'Only the organisation sees its clearing files.');
  }
  return organizationId;
}

function refuseAcknowledgement(detail: string): never {
  return refuse('acknowledgement_invalid', detail, {
    errors: [{ pointer: '/acknowledgement', code: 'acknowledgement_invalid', detail }],
  });
}

function readAcknowledgement(text: string): ClearingAcknowledgement {
  try {
    return referenceClearing.readAcknowledgement(text);
  } catch (error) {
    if (!(error instanceof AcknowledgementFault)) throw error;
    return refuseAcknowledgement(`Line ${error.line}: ${error.message}`);
  }
}

/** It must be of this file, and account for each of its lines. */
function checkAcknowledgement(told: ClearingAcknowledgement, file: FileRow): void {
  if (told.fileId !== file.fileId || told.sequence !== file.sequence) {
    refuseAcknowledgement('Is of another file.');
  }
  if (told.refused !== undefined) return;
  const outside = told.rejections.find(({ line }) => line < 1 || line > file.lineCount);
  if (outside !== undefined) refuseAcknowledgement(`The file has no line ${outside.line}.`);
  if (told.accepted + told.rejections.length !== file.lineCount) {
    refuseAcknowledgement(`The file has ${file.lineCount} lines.`);
  }
}

/** Of all else the next look meets the same, and somebody has to look. */
const mayPass = (error: unknown): boolean =>
  error instanceof Refusal && errorCodes[error.code].retryable;

export type ClearingFiles = ReturnType<typeof createClearingFiles>;

/** @example const files = createClearingFiles({ clearing: createClearingStore(database), … }); */
export function createClearingFiles(deps: FilesDeps) {
  const { clearing } = deps;

  async function fileOf(caller: Caller, fileId: string): Promise<FileRow> {
    const key = { organizationId: organizationOf(caller), fileId: fileId.toLowerCase() };
    const row = await clearing.find(key);
    return row ?? refuse('resource_not_found', 'There is no clearing file with this identifier.');
  }

  async function makeFile(
    organizationId: string,
    linkId: string,
    openDays: boolean,
  ): Promise<string | undefined> {
    const institutionId = await deps.provisioning.institutionOf(organizationId, linkId);
    if (institutionId === undefined) {
      refuse('resource_not_found', 'There is no acquirer link with this identifier.');
    }
    const fileId = deps.ids.uuid();
    const at = isoTime(deps.clock.now());
    const made = await clearing.make({
      organizationId,
      linkId,
      fileId,
      at,
      limit: linesMax,
      until: openDays ? undefined : at,
      institutionId,
    });
    return made ? fileId : undefined;
  }

  async function* linesOf(organizationId: string, fileId: string): AsyncIterable<ClearingLine[]> {
    for (let after = 0; ; ) {
      const rows = await clearing.lines({ organizationId, fileId, after, limit: pageSize });
      yield rows.map(({ content }) => content);
      if (rows.length < pageSize) return;
      after = rows.at(-1)?.line ?? after;
    }
  }

  /** An acknowledgement that counts the lines otherwise than the file would let others fail. */
  async function demandSameLines(
    organizationId: string,
    fileId: string,
    { rejections }: ClearingAcknowledgement,
  ): Promise<void> {
    if (rejections.length === 0) return;
    const line = await clearing.stranger({ organizationId, fileId, rejections });
    if (line !== undefined) refuseAcknowledgement(`Line ${line} has another reference.`);
  }

  return {
    /** @throws Refusal nothing_to_clear, resource_not_found, permission_denied */
    async make(caller: Caller, request: ClearingFileRequest): Promise<ClearingFile> {
      const organizationId = organizationOf(caller);
      const linkId = request.acquirerLink.toLowerCase();
      const fileId = await makeFile(organizationId, linkId, request.openDays ?? false);
      if (fileId === undefined) {
        return refuse('nothing_to_clear', 'No capture of this link waits for a file.');
      }
      return viewFile(await fileOf(caller, fileId));
    },
    async list(
      caller: Caller,
      { acquirerLink, state }: { acquirerLink?: string; state?: string },
      { limit, after }: PageRequest,
    ): Promise<FoundPage<ClearingFile>> {
      const rows = await clearing.list({
        organizationId: organizationOf(caller),
        linkId: acquirerLink?.toLowerCase(),
        state,
        after,
        limit: limit + 1,
      });
      const items = rows.slice(0, limit);
      const next = rows.length > limit ? items.at(-1)?.fileId : undefined;
      return { items: items.map(viewFile), next };
    },
    async get(caller: Caller, fileId: string): Promise<ClearingFile> {
      return viewFile(await fileOf(caller, fileId));
    },
    /** The same bytes each time. @throws Refusal resource_not_found of what was taken apart again */
    async content(caller: Caller, fileId: string) {
      const file = await fileOf(caller, fileId);
      if (file.state === 'Rejected') {
        refuse('resource_not_found', 'The acquirer refused it; its lines are in a later file.');
      }
      const header = headerOf(file);
      const lines = linesOf(organizationOf(caller), file.fileId);
      return {
        name: referenceClearing.nameOf(header),
        text: referenceClearing.write(header, lines),
      };
    },
    async lines(
      caller: Caller,
      fileId: string,
      { status }: { status?: string },
      { limit, after }: PageRequest,
    ): Promise<FoundPage<ClearingFileLine>> {
      const file = await fileOf(caller, fileId);
      const rows = await clearing.lines({
        organizationId: organizationOf(caller),
        fileId: file.fileId,
        after: Number(after ?? 0),
        limit: limit + 1,
        status,
      });
      const items = rows.slice(0, limit);
      const next = rows.length > limit ? String(items.at(-1)?.line) : undefined;
      return { items: items.map(viewLine), next };
    },
    /** @throws Refusal acknowledgement_invalid, clearing_file_acknowledged, resource_not_found */
    async acknowledge(caller: Caller, fileId: string, text: string): Promise<ClearingFile> {
      const organizationId = organizationOf(caller);
      const file = await fileOf(caller, fileId);
      const told = readAcknowledgement(text);
      checkAcknowledgement(told, file);
      await demandSameLines(organizationId, file.fileId, told);
      const mark = createHash('sha256').update(text).digest('hex');
      const key = { organizationId, fileId: file.fileId, mark, at: isoTime(deps.clock.now()) };
      const job = { jobId: deps.ids.uuid(), kind: clearingJob };
      const { accepted, rejections, refused } = told;
      const done =
        refused === undefined
          ? await clearing.acknowledge({ ...key, accepted, rejections, job })
          : await clearing.refuse({ ...key, reason: refused });
      const standing = await fileOf(caller, file.fileId);
      if (!done && standing.acknowledgement !== mark) {
        refuse('clearing_file_acknowledged', 'The file was acknowledged otherwise.');
      }
      if (done && refused === undefined) deps.jobs.poke();
      return viewFile(standing);
    },
    /** Files for all links with captures of days that have ended. */
    async makeDue(): Promise<number> {
      const due = await clearing.dueLinks(isoTime(deps.clock.now()), dueLinksMax);
      // One that cannot be made holds up no other.
      const made = await Promise.all(
        due.map(({ organizationId, linkId }) =>
          makeFile(organizationId, linkId, false).catch((error: unknown) => {
            const level = mayPass(error) ? 'warn' : 'error';
            deps.log[level]({ err: error, linkId }, 'a clearing file was not made');
          }),
        ),
      );
      return made.filter((fileId) => typeof fileId === 'string').length;
    },
  };
}

/** Looks from time to time whether a settlement day has ended somewhere. */
export const createClearingSweep = (
  { makeDue }: ClearingFiles,
  { log }: Pick<FilesDeps, 'log'>,
): Sweep =>
  createSweep({
    everyMs: sweepEveryMs,
    look: makeDue,
    onFault: (error) => log.warn({ err: error }, 'clearing files were not made'),
  });

/** Shows what no acquirer has acknowledged, and what should stand in a file by now. */
export function measureFiles({
  clearing,
  metrics,
  clock,
}: Pick<FilesDeps, 'clearing' | 'clock'> & { metrics: Metrics }): void {
  const gauges: Gauges<OpenOfLink> = {
    unacknowledged: {
      help: 'Clearing files that the acquirer of a link has not acknowledged',
      value: ({ count }) => count,
    },
    oldest_seconds: {
      help: 'How long the oldest of them has waited',
      value: ({ oldestAt }) => secondsSince(oldestAt, clock.now()),
    },
  };
  measureLinks(metrics, 'clearing_files', gauges, clearing.openFiles);
  const ofLines: Gauges<OpenOfLink> = {
    due: {
      help: 'Captures of settlement days that have ended which no clearing file of a link holds',
      value: ({ count }) => count,
    },
    oldest_seconds: {
      help: 'How long the day of the oldest of them has ended',
      value: ({ oldestAt }) => secondsSince(oldestAt, clock.now()),
    },
  };
  const due = () => clearing.dueLines(isoTime(clock.now()));
  measureLinks(metrics, 'clearing_lines', ofLines, due);
}
