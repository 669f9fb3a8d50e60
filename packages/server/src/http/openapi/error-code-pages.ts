// One page for each error code with its meaning and the action of the client.
import {
  type ErrorCode,
  type ErrorCodeFacts,
  errorCodes,
  getErrorAdvice,
  listErrorCodes,
  outcomeMeanings,
} from '@switchyard/contract';
import { type Html, html } from '../responses/html.ts';

const reservedText = 'Reserved: no operation of this version returns it.';

const repeatingLink: Html = html` See <a href="../explanation/idempotency">Repeating a request</a>.`;

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
<dt>Outcome, unless the response gives another one</dt><dd><code>${facts.outcome}</code> – ${outcomeMeanings[facts.outcome]}${facts.outcome === 'NotProcessed' ? repeatingLink : ''}</dd>
<dt>Can be retried</dt><dd>${facts.retryable ? 'Yes' : 'No'}</dd>
<dt>What to do</dt><dd>${getErrorAdvice(code)}</dd>
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
