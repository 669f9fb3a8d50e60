// One page for each error code with its meaning and the action of the client.
import {
  type ErrorCode,
  type ErrorCodeFacts,
  errorCodes,
  listErrorCodes,
} from '@switchyard/contract';
import { type Html, html } from '../responses/html.ts';

/** What each outcome says about moved money. */
const outcomeTexts: Record<ErrorCodeFacts['outcome'], Html> = {
  NotProcessed: html`This request moved no money. It says nothing about an earlier request with the same identifier: see <a href="../explanation/idempotency">Repeating a request</a>.`,
  Processed: html`The earlier request was processed, and money may have moved.`,
  Unknown: html`Unless the response gives another outcome, money may have moved.`,
};

const reservedText = 'Reserved: no operation of this version returns it.';

function adviceOf({ status, retryable, outcome }: ErrorCodeFacts): string {
  if (outcome === 'Processed') return 'Do not send the request again. Request the outcome.';
  if (outcome === 'Unknown') {
    return retryable
      ? 'Request the outcome first, by your own identifier. A repeated request must have the same identifier: the platform processes it only once.'
      : 'Do not send the request again: it may have been processed. Request its outcome.';
  }
  if (retryable) {
    return 'The same request can succeed later. Send it again, unchanged, after the time in Retry-After or retryAfterMs.';
  }
  if (status === 401) return 'Request a valid access token, and send the request again with it.';
  if (status === 403)
    return 'Ask an administrator for the permission, or use a resource that your token may access.';
  if (status === 404) return 'Check the path and the identifier, and the scope of your token.';
  if (status >= 500) return 'Send a new request with a new identifier.';
  return 'Correct the cause that detail and errors name before you send the request again.';
}

function layout(title: string, root: string, main: Html): Html {
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${title} · Switchyard</title>
<link rel="icon" href="${root}docs/api/assets/mark.svg" type="image/svg+xml">
<link rel="stylesheet" href="${root}docs/api/assets/pages.css">
</head>
<body>
<header><a class="brand" href="${root}docs/">Switchyard</a>
<nav><a href="${root}docs/">Documentation</a> <a href="${root}docs/api">API reference</a> <a href="${root}docs/errors">Error codes</a> <a href="${root}openapi.json">OpenAPI</a></nav></header>
<main>
${main}
</main>
</body>
</html>
`;
}

export function errorPage(code: ErrorCode): Html {
  const facts: ErrorCodeFacts = errorCodes[code];
  return layout(
    code,
    '../../',
    html`<p class="crumb"><a href="../errors">Error codes</a></p>
<h1><code>${code}</code></h1>
<p class="lead">${facts.title}.</p>
${facts.reserved === true ? html`<p>${reservedText}</p>` : ''}
<dl>
<dt>HTTP status</dt><dd>${facts.status}</dd>
<dt>Meaning</dt><dd>${facts.help}</dd>
<dt>Outcome</dt><dd><code>${facts.outcome}</code> – ${outcomeTexts[facts.outcome]}</dd>
<dt>Can be retried</dt><dd>${facts.retryable ? 'Yes' : 'No'}</dd>
<dt>What to do</dt><dd>${facts.advice ?? adviceOf(facts)}</dd>
</dl>`,
  );
}

export function unknownErrorPage(): Html {
  return layout(
    'No such error code',
    '../../',
    html`<p class="crumb"><a href="../errors">Error codes</a></p>
<h1>No such error code</h1>
<p class="lead">No error code has this name. <a href="../errors">All codes</a> are on one page.</p>`,
  );
}

function errorRow(code: ErrorCode): Html {
  const { title, retryable, outcome, reserved }: ErrorCodeFacts = errorCodes[code];
  const label = reserved === true ? `${title} (reserved)` : title;
  return html`<tr><td><a href="errors/${code}"><code>${code}</code></a></td><td>${label}</td><td>${outcome}</td><td>${retryable ? 'yes' : 'no'}</td></tr>
`;
}

export function errorIndexPage(): Html {
  const codes = listErrorCodes();
  const statuses = [...new Set(codes.map((code) => errorCodes[code].status))].sort((a, b) => a - b);
  const sections = statuses.map((status) => {
    const rows = codes.filter((code) => errorCodes[code].status === status).map(errorRow);
    return html`<h2 id="s${status}">HTTP ${status}</h2>
<div class="scroll"><table><thead><tr><th scope="col">Code</th><th scope="col">Title</th><th scope="col">Outcome</th><th scope="col">Retry</th></tr></thead>
<tbody>
${rows}</tbody></table></div>
`;
  });
  return layout(
    'Error codes',
    '../',
    html`<h1>Error codes</h1>
<p class="lead">Every error response is <code>application/problem+json</code> (RFC 9457) with a <code>code</code> of this closed list. <code>outcome</code> says whether this request may have moved money; a declined payment is not an error.</p>
${sections}`,
  );
}
