// HTML of the account page: sign-in methods, sessions and recent sign-ins.

import { type Html, html } from '../../../http/index.ts';
import { fillTemplate } from '../../../platform/index.ts';
import type { SignInRecord, User } from '../../accounts/index.ts';
import type { SessionSummary } from '../../sessions/sessions.ts';
import { hiddenField, renderForm, secondaryButton } from '../html/form-fields.ts';
import type { PageContent } from '../html/page-layout.ts';
import { emptyHtml } from '../html/page-layout.ts';
import type { PageTexts } from '../locales/page-texts.ts';
import { findSessionUserAgent, parseDeviceName } from './device-name.ts';

const displayedSignIns = 10;

export type SavedChange = keyof PageTexts['account']['saved'];

export type AccountPageData = {
  readonly token: string;
  readonly basePath: string;
  readonly domain: string;
  readonly user: User;
  readonly sessionId: string;
  readonly sessions: readonly SessionSummary[];
  /** More records than the page shows: they identify the devices of the sessions. */
  readonly signIns: readonly SignInRecord[];
  readonly passkeys: number;
  readonly saved?: SavedChange | undefined;
};

/** Formats times in the language of the page and the time zone of the user. */
export function createTimeFormatter(
  texts: PageTexts,
  zone: string | undefined,
): (timestamp: number) => string {
  const options = { dateStyle: 'medium', timeStyle: 'short' } as const;
  const formatIn = (timeZone: string) =>
    new Intl.DateTimeFormat(texts.language === 'en' ? 'en-GB' : texts.language, {
      ...options,
      timeZone,
    });
  let format: Intl.DateTimeFormat;
  try {
    format = formatIn(zone ?? 'UTC');
  } catch {
    // This machine does not know the time zone.
    format = formatIn('UTC');
  }
  return (timestamp) => format.format(timestamp);
}

function fullName({ givenName, familyName, username }: User): string {
  const name = [givenName, familyName].filter((part) => part !== undefined).join(' ');
  return name === '' ? username : name;
}

function renderRow(title: string, text: string, action: Html): Html {
  return html`<li><div class="what"><h3>${title}</h3><p>${text}</p></div>${action}</li>
`;
}

function linkButton(address: string, text: string, ariaLabel: string): Html {
  return html`<a class="button lesser" href="${address}" aria-label="${ariaLabel}">${text}</a>`;
}

function renderSignInMethods(
  texts: PageTexts,
  { basePath, user, passkeys }: AccountPageData,
): Html[] {
  const { account } = texts;
  const hasCodes = user.secondFactor === 'On';
  const password = renderRow(
    account.password,
    account.passwordText,
    linkButton(`${basePath}/password`, account.change, account.changePassword),
  );
  const codes = hasCodes
    ? linkButton(`${basePath}/one-time-code`, account.replace, account.replaceCodes)
    : linkButton(`${basePath}/one-time-code`, account.setUp, account.setUpCodes);
  const codesRow = renderRow(account.codes, hasCodes ? account.codesOn : account.codesOff, codes);
  if (!hasCodes)
    return [password, codesRow, renderRow(account.passkeys, account.passkeysNeedCodes, emptyHtml)];
  return [
    password,
    codesRow,
    renderRow(
      account.recovery,
      account.recoveryText,
      linkButton(`${basePath}/recovery-codes`, account.renew, account.renewCodes),
    ),
    renderRow(
      passkeys === 0 ? account.passkeys : `${account.passkeys} (${passkeys})`,
      account.passkeysText,
      linkButton(`${basePath}/passkeys`, account.manage, account.managePasskeys),
    ),
  ];
}

function describeDevice({ account }: PageTexts, userAgent: string | undefined): string | undefined {
  const device = parseDeviceName(userAgent);
  if (device === undefined) return undefined;
  const { browser, system } = device;
  return system === undefined ? browser : fillTemplate(account.device, { browser, system });
}

function renderSession(texts: PageTexts, data: AccountPageData, session: SessionSummary): Html {
  const { account } = texts;
  const { basePath, token, sessionId, user, signIns } = data;
  const time = createTimeFormatter(texts, user.zoneinfo);
  const isCurrent = session.sessionId === sessionId;
  const userAgent = findSessionUserAgent(session, signIns);
  const name = describeDevice(texts, userAgent) ?? account.kinds[session.kind];
  const since = fillTemplate(account.since, { time: time(session.signedInAt) });
  const lastSeen = fillTemplate(account.lastSeen, { time: time(session.lastSeenAt) });
  const tag = html`<span class="tag">${account.thisSession}</span>`;
  const end = renderForm({
    action: `${basePath}/sessions/end`,
    token,
    isInline: true,
    parts: [
      hiddenField('session', session.sessionId),
      secondaryButton(
        texts.signOut,
        fillTemplate(account.endSession, { name: `${name}, ${since}` }),
      ),
    ],
  });
  return html`<li><div class="what"><h3>${name}${isCurrent ? tag : emptyHtml}</h3><p>${since} · ${lastSeen}</p></div>${isCurrent ? emptyHtml : end}</li>
`;
}

function renderSessions(texts: PageTexts, data: AccountPageData): Html {
  const { account } = texts;
  const { sessions, sessionId, basePath, token } = data;
  const isCurrent = (session: SessionSummary) => session.sessionId === sessionId;
  const ordered = [...sessions].sort(
    (first, second) => Number(isCurrent(second)) - Number(isCurrent(first)),
  );
  const others = renderForm({
    action: `${basePath}/sessions/end-others`,
    token,
    parts: [secondaryButton(account.endOthers)],
  });
  return html`<section aria-labelledby="sessions"><h2 id="sessions">${account.sessions}</h2>
<ul class="rows">
${ordered.map((session) => renderSession(texts, data, session))}</ul>
${sessions.length < 2 ? emptyHtml : html`<div class="below">${others}</div>`}</section>
`;
}

/** The page does not show why an attempt was refused: this would help an attacker. */
function displayedOutcome({ kind, outcome }: SignInRecord): keyof PageTexts['account']['outcomes'] {
  if (outcome === 'EnrolmentNeeded' || outcome === 'PasskeyNeeded') return 'passwordRight';
  if (outcome !== 'Success') return 'refused';
  return kind === 'enrolment' ? 'codesSetUp' : 'signedIn';
}

function renderSignIns(texts: PageTexts, { signIns, user }: AccountPageData): Html {
  const { account } = texts;
  const time = createTimeFormatter(texts, user.zoneinfo);
  const rows = signIns.slice(0, displayedSignIns).map((record) => {
    const { attemptedAt, address, userAgent } = record;
    const outcome = displayedOutcome(record);
    const refusedClass = outcome === 'refused' ? { html: ' class="refused"' } : emptyHtml;
    const device = describeDevice(texts, userAgent) ?? account.unknownDevice;
    const details = [time(attemptedAt), device, address].filter(Boolean).join(' · ');
    return html`<li><div class="what"><strong${refusedClass}>${account.outcomes[outcome]}</strong><p>${details}</p></div></li>
`;
  });
  return html`<section aria-labelledby="sign-ins"><h2 id="sign-ins">${account.signIns}</h2>
${rows.length === 0 ? html`<p class="lead">${account.none}</p>` : html`<ul class="rows">\n${rows}</ul>`}</section>
`;
}

export function renderAccountPage(texts: PageTexts, data: AccountPageData): PageContent {
  const { account } = texts;
  const { basePath, token, domain, user, saved } = data;
  const notice =
    saved === undefined
      ? emptyHtml
      : html`<div class="notice" role="status"><p>${account.saved[saved]}</p></div>
`;
  const signOutForm = renderForm({
    action: `${basePath}/sign-out`,
    token,
    parts: [secondaryButton(texts.signOut)],
    isInline: true,
  });
  return {
    title: account.title,
    isWide: true,
    body: html`${notice}<div class="title"><div><h1>${account.title}</h1>
<p class="lead">${account.signedInAs} <strong>${fullName(user)}</strong> (${user.username}@${domain})</p></div>${signOutForm}</div>
<section aria-labelledby="methods"><h2 id="methods">${account.methods}</h2>
<ul class="rows">
${renderSignInMethods(texts, data)}</ul></section>
${renderSessions(texts, data)}${renderSignIns(texts, data)}`,
  };
}
