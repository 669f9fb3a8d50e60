// docs/reference/errors.md: every code that a problem response can have, each under a heading of its own.
import { type ErrorCode, type ErrorCodeFacts, errorCodes } from '@switchyard/contract';
import { code, table } from './markdown.ts';

const opening = `# Errors

Every error response is an \`application/problem+json\` document (RFC 9457). Switch on \`code\`: the list is
closed, and a code never changes its meaning. \`outcome\` says whether money may have moved;
\`retryable\` says whether the same request can succeed later. No response uses a reserved code yet.
A decline by the card's issuer is not an error: it is HTTP 200 with the whole transaction and
\`approved: false\`.

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
  const { status, title, help, outcome, retryable, reserved }: ErrorCodeFacts = errorCodes[name];
  const reservedNote = reserved === true ? 'Reserved: no response uses this code yet. ' : '';
  const again = adviceOnRepeating(outcome, retryable);
  return `## ${name}\n\n**${title}.** HTTP ${status}, outcome ${code(outcome)}. ${reservedNote}${help} ${again}`;
}

function adviceOnRepeating(outcome: ErrorCodeFacts['outcome'], retryable: boolean): string {
  if (!retryable) return 'The unchanged request fails again while the cause remains.';
  return outcome === 'Unknown'
    ? 'The same request with the same identifier is safe: it takes effect once.'
    : 'The same request can succeed later.';
}
