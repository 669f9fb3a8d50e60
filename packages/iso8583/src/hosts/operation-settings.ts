// The members of a host table for the messages of operations.
import type { OperationName } from '../operation-names.ts';
import type { FieldContent } from './field-content.ts';

/** The message of one operation. */
export type OperationSettings = {
  /** Type of the first copy, with the first digit of 1987: `0200`. */
  readonly type?: string;
  /** Field 3, six digits. Without it a capture, void or reversal has the code of its sale. */
  readonly processingCode?: string;
  /** Fields that repeat the value of the original: 11, 12, 13, 37. */
  readonly fromOriginal?: readonly number[];
  /** Values of fields in this message only. */
  readonly constants?: { readonly [field: number]: string };
  /** Fields that this message does not have. */
  readonly omit?: readonly number[];
  /** Beside the member `contents` of the table; `null` for a field that this message does not have. */
  readonly contents?: { readonly [field: number]: FieldContent | null };
};

export type Operations = { readonly [name in OperationName]?: OperationSettings };

/** A field that distinguishes a repetition from the first copy; the message type stays. */
export type RepeatIndicator = {
  readonly field: number;
  /** Without it, the first copy does not have the field. */
  readonly first?: string;
  readonly repeat: string;
};
