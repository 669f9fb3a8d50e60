// The members of report.json.
import type { CaseResult } from './run-case.ts';

export type ReportHead = {
  readonly plan: { readonly name: string; readonly sha256: string };
  readonly link: {
    readonly id: string;
    readonly name: string;
    readonly host: string;
    readonly port: number;
    readonly tls: boolean;
    readonly institutionId: string;
  };
  readonly hostTable: { readonly name: string; readonly sha256: string };
  readonly software: string;
  readonly startedAt: string;
  readonly finishedAt: string;
  /** The sum of all cases. */
  readonly durationMs: number;
};

export type CaseReport =
  | CaseResult
  | { readonly id: string; readonly title: string; readonly result: 'NotRun' };

export type Totals = Readonly<Record<'passed' | 'failed' | 'skipped' | 'notRun', number>>;

export type Report = ReportHead & {
  readonly format: 'switchyard-certification/1';
  readonly totals: Totals;
  readonly cases: readonly CaseReport[];
  /** Files in the same directory that the signature covers too. */
  readonly files?: readonly { readonly name: string; readonly sha256: string }[];
};
