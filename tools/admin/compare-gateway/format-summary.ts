// Formats the result of a comparison as text.
import type { Output } from '../../../packages/cli/src/output/output.ts';
import {
  type ComparisonSummary,
  type FieldSummary,
  type OperationSummary,
  type ReasonSummary,
  standardTimeoutMs,
} from './summarize-comparison.ts';

export type ComparisonReport = ComparisonSummary & {
  readonly trace: string;
  readonly table: string;
  readonly differingPercent: number;
  readonly tolerancePercent: number;
  readonly isWithinTolerance: boolean;
  /** Requests at the end of the trace that have no response. */
  readonly unanswered: number;
};

const describeExample = ({ example }: FieldSummary): string => {
  if (example === undefined) return '';
  const { position, recorded = '(none)', platform = '(none)', detail } = example;
  const text = `${recorded} / ${platform}${detail === undefined ? '' : `, ${detail}`}`;
  return `${text} (${position})`;
};

const isDiffering = ({ different, missing, additional }: FieldSummary): boolean =>
  different + missing + additional > 0;

const percent = (value: number): string => `${Number(value.toPrecision(3))} %`;

export function formatSummary(
  report: ComparisonReport,
  { formatTable }: Pick<Output, 'formatTable'>,
): string {
  const { results, operations, fields, reasons, lateResponses, unanswered } = report;
  const section = (title: string, text: string) => `\n${title}\n\n${text}`;
  const differingFields = fields.filter(isDiffering);
  const parts = [
    `${report.trace} compared with the host table ${report.table}\n`,
    section(
      'Messages',
      formatTable<OperationSummary>(
        ['operation', 'requests', 'different', 'approved', 'declined', 'refused'],
        operations,
      ),
    ),
  ];
  if (differingFields.length > 0)
    parts.push(
      section(
        'Fields that differ (first example: recorded / platform)',
        formatTable<FieldSummary>(
          [
            { title: 'FIELD', value: ({ field }) => (field === 0 ? 'MTI' : field) },
            'name',
            'equal',
            'different',
            'missing',
            'additional',
            { title: 'EXAMPLE', value: describeExample, neverTruncate: true },
          ],
          differingFields,
        ),
      ),
    );
  if (reasons.length > 0)
    parts.push(
      section(
        'Other findings',
        formatTable<ReasonSummary>(
          [
            'result',
            'count',
            { title: 'FIRST', value: ({ position }) => position },
            { title: 'REASON', value: ({ reason }) => reason, neverTruncate: true },
          ],
          reasons,
        ),
      ),
    );
  const late = `${lateResponses} responses after more than ${standardTimeoutMs / 1000} s, ${unanswered} requests without a response`;
  const share = `${report.differing} of ${report.checked} messages differ: ${percent(report.differingPercent)}, tolerance ${percent(report.tolerancePercent)}`;
  parts.push(`\n${results.Equal} requests are equal\n${late}\n${share}\n`);
  return parts.join('');
}
