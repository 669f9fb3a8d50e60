// The messages of one case: decoded for expectations, and masked and annotated for the report.
import { annotateMessage, type HostTable } from '../../../packages/iso8583/src/index.ts';
import type { TracedFrame } from '../../../packages/server/src/acquiring/index.ts';
import { isoTime } from '../../../packages/server/src/platform/index.ts';
import { maskParts, type ReportedPart, type Secrets } from './mask-parts.ts';

export type ReportedMessage = {
  readonly at: string;
  readonly direction: TracedFrame['direction'];
  /** In the form of the host. */
  readonly mti: string;
  readonly parts: readonly ReportedPart[];
};

/** A message of the case, in clear; it never leaves this process. */
export type LoggedMessage = {
  readonly at: number;
  readonly frame: TracedFrame;
  /** The fields in the form of the host, by number. */
  readonly hostFields: Readonly<Record<number, string>>;
  /** A step was compared with it. */
  isUsed: boolean;
};

const networkFunctionField = 70;
const keyChange = '101';

export type MessageLog = ReturnType<typeof createMessageLog>;

/** A part outside the message; none if it has no bytes. */
const framePart = (name: string, offset: number, bytes: Buffer): ReportedPart[] =>
  bytes.length === 0
    ? []
    : [{ offset, bytes: bytes.toString('hex').toUpperCase(), field: '', name, value: '' }];

export function createMessageLog(table: HostTable, now: () => number) {
  const { messages: dialect } = table;
  let messages: LoggedMessage[] = [];
  const listeners = new Set<() => void>();

  function report(logged: LoggedMessage, secrets: Secrets): ReportedMessage {
    const { at, frame } = logged;
    const { header, message, trailer } = frame;
    const isKeyChange = frame.canonical?.fields[networkFunctionField] === keyChange;
    const keyField = isKeyChange ? table.keyChange.field : undefined;
    const parts = maskParts(annotateMessage(dialect, message), secrets, keyField);
    const inFrame = parts.map((part) => ({ ...part, offset: part.offset + header.length }));
    const { direction } = frame;
    return {
      at: isoTime(at),
      direction,
      mti: parts[0]?.value ?? '',
      parts: [
        ...framePart('Length and header', 0, header),
        ...inFrame,
        ...framePart('End of the frame', header.length + message.length, trailer),
      ],
    };
  }

  return {
    add(frame: TracedFrame): void {
      const parts = annotateMessage(dialect, frame.message);
      const hostFields = Object.fromEntries(
        parts.flatMap(({ field, value }) => (field === undefined ? [] : [[field, value]])),
      );
      messages.push({ at: now(), frame, hostFields, isUsed: false });
      for (const listener of listeners) listener();
    },
    /** Forgets the messages of the case before. */
    clear(): void {
      messages = [];
    },
    list: (): readonly LoggedMessage[] => messages,
    report,
    /** Calls the listener after each message, until the returned function is called. */
    onMessage(listener: () => void): () => void {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };
}
