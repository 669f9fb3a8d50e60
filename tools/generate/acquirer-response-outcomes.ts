// docs/reference/operation-outcomes.md: the tables that decide what a response of the acquirer means.
import {
  hostErrorCodes,
  manualResolutionRules,
  type OutcomeResult,
  type OutcomeRule,
  offlineSaleOutcomeRules,
  operationOutcomeRules,
  reversalOutcomeRules,
} from '../../packages/server/src/payments/reversals/operation-outcome.ts';
import { code, table } from './markdown.ts';

const opening = `# Outcomes of operations

These tables decide what the platform does with the response of the acquirer to a message. The first row whose
conditions match applies; an empty cell matches everything. The server evaluates the same tables. Only the table of
[sales](#sales) is written by hand.

| Response | Meaning |
|---|---|
| Approved | The host approved the message. |
| Declined | The host declined the message. |
| Original not found | Response code \`25\`: the host does not know the sale. |
| Host error | ${hostErrorCodes.map(code).join(', ')}: the host or the connection to the issuer is out of order. |
| Indeterminate | \`09\`, \`68\`, or a response code that is in no table: the message may have been processed. |
| Duplicate | \`94\` or \`26\`: the host knows the reference numbers of the message. |
| No response | The message was sent, and no valid response arrived in time. |
| Not sent | No byte of the message left the platform. |

A copy is *repeated* if an earlier copy of the same message may have been sent.

If the request itself sent the first copy, the second copy is due at once. The growing delay applies to every later
copy, and to every copy of a message that a job sends first.

When a response makes an operation \`Pending\`, the \`reason\` of the event names the response, for example
\`Duplicate\`, \`HostError\` or \`Indeterminate\`. It is \`Unanswered\` without a response, and
\`AcquirerUnavailable\` if nothing was sent.

A host with other codes needs lines in \`responseCodes\` of [its table](host-tables.md#response-codes): the server reads
the code after these lines.

## Sales

| Response | State of the sale | Reversed | Reason |
|---|---|---|---|
| Approved | \`Authorized\` or \`Captured\` | no | the host has done it |
| Approved for a part (\`10\`) | the same, with the approved amount | no, if the request and the contract allow partial approvals | the host has done it |
| Approved for a part otherwise, or for another amount | \`Reversing\` | yes | the sale is not the requested one |
| Declined or Original not found | \`Declined\` | no | the host has refused it |
| Host error | \`Declined\` | no | the host did not process the only copy |
| Indeterminate | \`Reversing\` | yes | the issuer may have booked it |
| Duplicate | \`Reversing\` | yes | the host may have booked a sale with these reference numbers |
| No response | \`Reversing\` | yes | the host may have booked it |
| Not sent | \`Failed\`, or the sale goes to the next contract | no | the host does not have it |

A sale is sent once: only its reversal is repeated. A host that may have booked a sale must therefore not answer with a
code of a host error. Map such a code to \`68\`.
`;

const words: Readonly<Record<string, string>> = {
  OriginalNotFound: 'Original not found',
  HostError: 'Host error',
  NoResponse: 'No response',
  NotSent: 'Not sent',
  BeforeSend: 'before this copy was sent',
  AfterSend: 'after this copy was sent',
  Never: 'never',
  None: 'none',
  WithoutHostResponse: 'finished without a response of the host',
  AcceptedByHost: 'accepted by the host',
  true: 'yes',
  false: 'no',
};

const headings: Readonly<Record<string, string>> = {
  response: 'Response',
  isRepeat: 'Repeated',
  hasCollision: 'Collision recorded',
  isScheduled: 'Retry scheduled',
  isClearingLine: 'In a clearing file',
  saleApproval: 'Host approved the sale',
  earlierReversal: 'Earlier reversal',
  canSaleArrive: 'Sale may still arrive',
  resolvedAs: 'Resolved as',
};

const cell = (value: unknown): string =>
  [value]
    .flat()
    .map((each) => (each === undefined ? '' : (words[String(each)] ?? String(each))))
    .join(' or ');

function rulesTable<Conditions, Result>(
  rules: readonly OutcomeRule<Conditions, Result>[],
  conditions: readonly (keyof Conditions & string)[],
  resultHeadings: readonly string[],
  resultCells: (result: Result) => readonly string[],
): string {
  const head = [...conditions.map((name) => headings[name] ?? name), ...resultHeadings, 'Reason'];
  return table(
    head,
    rules.map(({ when, result, because }) => [
      ...conditions.map((name) => cell(when[name])),
      ...resultCells(result),
      because,
    ]),
  );
}

const retryWords = {
  Backoff: 'with a growing delay',
  BackoffInOrder: 'with a growing delay; later messages of the link wait',
  WhenLinkIsUp: 'when the link is available; not counted as an attempt',
};
const outcomeHeadings = ['Status', 'Sent again', 'Recorded'];

function outcomeCells(result: OutcomeResult): string[] {
  if (result.status !== 'Pending') return [code(result.status), 'no', ''];
  const { retry, isCollision, newReference, isAccepted } = result;
  const recorded = [
    isCollision ? 'the collision, with an alert' : undefined,
    newReference === undefined ? undefined : 'new reference numbers',
    newReference === 'UpToLimit' ? 'at most 6 times' : undefined,
    isAccepted ? 'the acceptance' : undefined,
  ].filter((each) => each !== undefined);
  return [code('Pending'), retryWords[retry], recorded.join(', ')];
}

const message = ['response', 'isRepeat', 'hasCollision'] as const;

export function operationOutcomesDocument(): string {
  const alerts = {
    Contradiction: 'the response contradicts the resolution',
    PossiblyProcessed: 'the operation may have been processed',
    None: 'none',
  };
  const sections = [
    [
      'Captures, refunds and cancels',
      'While the status is `Pending`, the amount stays reserved.',
      rulesTable(
        operationOutcomeRules,
        [...message, 'isScheduled', 'isClearingLine'],
        outcomeHeadings,
        outcomeCells,
      ),
    ],
    [
      'Reversals',
      'A reversal ends only after the host accepted it, or when the host cannot hold the sale. It is never declined.',
      rulesTable(
        reversalOutcomeRules,
        [...message, 'saleApproval', 'earlierReversal', 'canSaleArrive'],
        outcomeHeadings,
        outcomeCells,
      ),
    ],
    [
      'Advices of offline sales',
      'The customer has the goods, so the platform does not reverse the sale.',
      rulesTable(offlineSaleOutcomeRules, message, outcomeHeadings, outcomeCells),
    ],
    [
      'Responses after a manual resolution',
      'A user resolved the operation while its last message was on its way. The status does not change.',
      rulesTable(manualResolutionRules, [...message, 'resolvedAs'], ['Alert'], (alert) => [
        alerts[alert],
      ]),
    ],
  ];
  return [
    opening,
    ...sections.map(([title, text, rows]) => `## ${title}\n\n${text}\n\n${rows}\n`),
  ].join('\n');
}
