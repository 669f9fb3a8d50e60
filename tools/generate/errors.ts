// docs/reference/errors.md: every code that a problem response can have, each under a heading of its own.
import {
  type ErrorCode,
  type ErrorCodeFacts,
  errorCodes,
  getErrorAdvice,
  outcomeMeanings,
} from '@switchyard/contract';
import { code, table } from './markdown.ts';

const opening = `# Errors

Every error response is an \`application/problem+json\` document (RFC 9457). Let your program decide by
\`code\`: the list of codes is complete, and a code never changes its meaning. \`retryable\` says whether
the same request can succeed later; otherwise correct the cause before you send it again. No response
uses a reserved code yet.

\`\`\`json
{ "type": "https://api.example.com/docs/errors/field_required", "code": "field_required",
  "title": "A required field is missing", "status": 422, "detail": "instrument: Is required.",
  "outcome": "NotProcessed", "retryable": false,
  "errors": [ { "pointer": "/instrument", "code": "field_required", "detail": "Is required." } ],
  "requestId": "01a226b8-8fda-7857-97fc-be3c07e9f5ac",
  "instance": "urn:uuid:01a226b8-8fda-7857-97fc-be3c07e9f5ac" }
\`\`\`

Only some errors have \`errors\`, \`retryAfterMs\` (the header \`Retry-After\` has the same in seconds), or
\`transaction\` with \`allowedOperations\`. \`requestId\` finds the request in the logs.

\`outcome\` says whether money can have moved:

- \`NotProcessed\`: ${outcomeMeanings.NotProcessed} See
  [repeating a request](../explanation/idempotency.md).
- \`Processed\`: ${outcomeMeanings.Processed}
- \`Unknown\`: ${outcomeMeanings.Unknown}

The table has the usual outcome of each code; the response can give another one.

In the texts below, *the detail* is the field \`detail\` of the response, and *the pointer* is
\`errors[].pointer\`, a JSON Pointer to the field of your request.

A decline by the card's issuer is not an error: it is HTTP 200 with the whole transaction and
\`approved: false\`. A declined refund, capture or cancel is HTTP 200 with \`operation.status\`
\`Declined\`; \`approved\` then still describes the sale.

The OAuth endpoints use the error body and the codes of RFC 6749.

`;

export function errorsDocument(): string {
  const codes = Object.keys(errorCodes) as ErrorCode[];
  const rows = codes.map((name) => {
    const { status, title, outcome, retryable, reserved }: ErrorCodeFacts = errorCodes[name];
    const displayedTitle = reserved === true ? `${title} (reserved)` : title;
    return [
      `[${code(name)}](#${name})`,
      String(status),
      displayedTitle,
      outcome,
      retryable ? 'yes' : 'no',
    ];
  });
  const pages = codes.map(page).join('\n\n');
  const head = ['Code', 'Status', 'Title', 'Outcome', 'Retryable'];
  return `${opening}${table(head, rows)}\n\n${pages}\n`;
}

function page(name: ErrorCode): string {
  const facts: ErrorCodeFacts = errorCodes[name];
  const { status, title, help, outcome, retryable, reserved, advice } = facts;
  const reservedNote = reserved === true ? 'Reserved: no response uses this code yet. ' : '';
  // The opening of the page has the advice for the other codes.
  const hasAdvice = advice !== undefined || retryable || outcome !== 'NotProcessed';
  return `## ${name}\n\n**${title}.** HTTP ${status}, outcome ${code(outcome)}. ${reservedNote}${help}${hasAdvice ? ` ${getErrorAdvice(name)}` : ''}`;
}
