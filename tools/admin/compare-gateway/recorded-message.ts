// A message of a trace, and the faults of a trace. A fault never contains a byte of a message.

/** A message without length and TPDU. */
export type RecordedMessage = {
  /** Epoch ms; undefined if the file has no time. */
  readonly atMs: number | undefined;
  /** The line, or the byte of the file with which the packet of its last byte begins. */
  readonly position: string;
  readonly connection: string;
  readonly direction: 'ToHost' | 'FromHost';
  readonly payload: Buffer;
};

/** A part of the trace that is not a message. */
export type TraceFault = { readonly reason: string; readonly position: string };

export type ReportFault = (fault: TraceFault) => void;

/** The file cannot be read as a trace at all. */
export class TraceError extends Error {}
