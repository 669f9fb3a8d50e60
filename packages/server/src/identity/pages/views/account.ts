// The view of the account page: how somebody signs in, where he is signed in, and who tried lately.
import { type Html, html } from '../../../http/index.ts';
import type { SignInRecord, User } from '../../accounts/index.ts';
import type { SessionSummary } from '../../sessions/sessions.ts';
import type { Answer } from '../answers.ts';
import { deviceName, userAgentOf } from '../device-name.ts';
import { form, hidden, lesser } from '../fields.ts';
import { nothing } from '../layout.ts';
import type { Words } from '../words/index.ts';

const signInsShown = 10;

export type Saved = keyof Words['account']['saved'];

export type AccountFacts = {
  readonly token: string;
  readonly base: string;
  readonly domain: string;
  readonly user: User;
  readonly sessionId: string;
  readonly sessions: readonly SessionSummary[];
  /** More than are shown: they tell which device a session is of. */
  readonly signIns: readonly SignInRecord[];
  readonly passkeys: number;
  readonly saved?: Saved | undefined;
};

/** In the words of the language and the hours of the user. */
export function timeWriter(words: Words, zone: string | undefined): (at: number) => string {
  const options = { dateStyle: 'medium', timeStyle: 'short' } as const;
  const write = (timeZone: string) =>
    new Intl.DateTimeFormat(words.language === 'en' ? 'en-GB' : words.language, {
      ...options,
      timeZone,
    });
  let format: Intl.DateTimeFormat;
  try {
    format = write(zone ?? 'UTC');
  } catch {
    // A zone that this machine does not know.
    format = write('UTC');
  }
  return (at) => format.format(at);
}

function fullName({ givenName, familyName, username }: User): string {
  const name = [givenName, familyName].filter((part) => part !== undefined).join(' ');
  return name === '' ? username : name;
}

function row(title: string, text: string, way: Html): Html {
  return html`<li><div class="what"><h3>${title}</h3><p>${text}</p></div>${way}</li>
`;
}

function linkTo(address: string, text: string, told: string): Html {
  return html`<a class="button lesser" href="${address}" aria-label="${told}">${text}</a>`;
}

function methodRows(words: Words, { base, user, passkeys }: AccountFacts): Html[] {
  const { account } = words;
  const hasCodes = user.secondFactor === 'On';
  const password = row(
    account.password,
    account.passwordText,
    linkTo(`${base}/password`, account.change, account.changePassword),
  );
  const codes = hasCodes
    ? linkTo(`${base}/one-time-code`, account.replace, account.replaceCodes)
    : linkTo(`${base}/one-time-code`, account.setUp, account.setUpCodes);
  const codesRow = row(account.codes, hasCodes ? account.codesOn : account.codesOff, codes);
  if (!hasCodes)
    return [password, codesRow, row(account.passkeys, account.passkeysNeedCodes, nothing)];
  return [
    password,
    codesRow,
    row(
      account.recovery,
      account.recoveryText,
      linkTo(`${base}/recovery-codes`, account.renew, account.renewCodes),
    ),
    row(
      passkeys === 0 ? account.passkeys : `${account.passkeys} (${passkeys})`,
      account.passkeysText,
      linkTo(`${base}/passkeys`, account.manage, account.managePasskeys),
    ),
  ];
}

function deviceText({ account }: Words, userAgent: string | undefined): string | undefined {
  const device = deviceName(userAgent);
  if (device === undefined) return undefined;
  const { browser, system } = device;
  return system === undefined ? browser : account.device(browser, system);
}

function sessionRow(words: Words, facts: AccountFacts, session: SessionSummary): Html {
  const { account } = words;
  const { base, token, sessionId, user, signIns } = facts;
  const time = timeWriter(words, user.zoneinfo);
  const isThis = session.sessionId === sessionId;
  const userAgent = userAgentOf(session, signIns);
  const name = deviceText(words, userAgent) ?? account.kinds[session.kind];
  const since = account.since(time(session.signedInAt));
  const lastSeen = account.lastSeen(time(session.lastSeenAt));
  const tag = html`<span class="tag">${account.thisSession}</span>`;
  const end = form({
    action: `${base}/sessions/end`,
    token,
    isInline: true,
    parts: [
      hidden('session', session.sessionId),
      lesser(words.signOut, account.endSession(`${name}, ${since}`)),
    ],
  });
  return html`<li><div class="what"><h3>${name}${isThis ? tag : nothing}</h3><p>${since} · ${lastSeen}</p></div>${isThis ? nothing : end}</li>
`;
}

function sessionSection(words: Words, facts: AccountFacts): Html {
  const { account } = words;
  const { sessions, sessionId, base, token } = facts;
  const isThis = (each: SessionSummary) => each.sessionId === sessionId;
  const ordered = [...sessions].sort((one, other) => Number(isThis(other)) - Number(isThis(one)));
  const others = form({
    action: `${base}/sessions/end-others`,
    token,
    parts: [lesser(account.endOthers)],
  });
  return html`<section aria-labelledby="sessions"><h2 id="sessions">${account.sessions}</h2>
<ul class="rows">
${ordered.map((session) => sessionRow(words, facts, session))}</ul>
${sessions.length < 2 ? nothing : html`<div class="below">${others}</div>`}</section>
`;
}

/** Why exactly an attempt was refused is for the audit: here it would help a thief. */
function outcomeOf({ kind, outcome }: SignInRecord): keyof Words['account']['outcomes'] {
  if (outcome === 'EnrolmentNeeded' || outcome === 'PasskeyNeeded') return 'passwordRight';
  if (outcome !== 'Success') return 'refused';
  return kind === 'enrolment' ? 'codesSetUp' : 'signedIn';
}

function signInSection(words: Words, { signIns, user }: AccountFacts): Html {
  const { account } = words;
  const time = timeWriter(words, user.zoneinfo);
  const rows = signIns.slice(0, signInsShown).map((record) => {
    const { at, address, userAgent } = record;
    const what = outcomeOf(record);
    const mark = what === 'refused' ? { html: ' class="refused"' } : nothing;
    const device = deviceText(words, userAgent) ?? account.unknownDevice;
    const told = [time(at), device, address].filter(Boolean).join(' · ');
    return html`<li><div class="what"><strong${mark}>${account.outcomes[what]}</strong><p>${told}</p></div></li>
`;
  });
  return html`<section aria-labelledby="sign-ins"><h2 id="sign-ins">${account.signIns}</h2>
${rows.length === 0 ? html`<p class="lead">${account.none}</p>` : html`<ul class="rows">\n${rows}</ul>`}</section>
`;
}

export function accountView(words: Words, facts: AccountFacts): Answer {
  const { account } = words;
  const { base, token, domain, user, saved } = facts;
  const notice =
    saved === undefined
      ? nothing
      : html`<div class="notice" role="status"><p>${account.saved[saved]}</p></div>
`;
  const out = form({
    action: `${base}/sign-out`,
    token,
    parts: [lesser(words.signOut)],
    isInline: true,
  });
  return {
    title: account.title,
    isWide: true,
    body: html`${notice}<div class="title"><div><h1>${account.title}</h1>
<p class="lead">${account.signedInAs} <strong>${fullName(user)}</strong> (${user.username}@${domain})</p></div>${out}</div>
<section aria-labelledby="methods"><h2 id="methods">${account.methods}</h2>
<ul class="rows">
${methodRows(words, facts)}</ul></section>
${sessionSection(words, facts)}${signInSection(words, facts)}`,
  };
}
