// Derives a device name from the User-Agent header, so that users recognise their devices; only a guess.
import type { SignInRecord } from '../../accounts/index.ts';
import type { SessionSummary } from '../../sessions/sessions.ts';

const browserPatterns: readonly (readonly [RegExp, string])[] = [
  [/\bEdgA?\//, 'Edge'],
  [/\bOPR\//, 'Opera'],
  [/\bSamsungBrowser\//, 'Samsung Internet'],
  [/\b(?:Firefox|FxiOS)\//, 'Firefox'],
  [/\b(?:HeadlessChrome|Chrome|CriOS)\//, 'Chrome'],
  [/\bVersion\/[\d.]+ .*Safari\//, 'Safari'],
  [/^curl\//, 'curl'],
];

const systemPatterns: readonly (readonly [RegExp, string])[] = [
  [/\bWindows NT\b/, 'Windows'],
  [/\biPad\b/, 'iPad'],
  [/\biPhone\b/, 'iPhone'],
  [/\bAndroid\b/, 'Android'],
  [/\bMac OS X\b/, 'macOS'],
  [/\bCrOS\b/, 'ChromeOS'],
  [/\bLinux\b/, 'Linux'],
];

function findName(
  userAgent: string,
  table: readonly (readonly [RegExp, string])[],
): string | undefined {
  return table.find(([form]) => form.test(userAgent))?.[1];
}

export function parseDeviceName(
  userAgent: string | undefined,
): { readonly browser: string; readonly system?: string } | undefined {
  if (userAgent === undefined) return undefined;
  const browser = findName(userAgent, browserPatterns);
  const system = findName(userAgent, systemPatterns);
  if (browser === undefined) return system === undefined ? undefined : { browser: system };
  return system === undefined ? { browser } : { browser, system };
}

/** With a passkey, the session begins shortly before the record is written. */
const maxSessionStartGapMs = 1500;

/**
 * A session does not store the User-Agent, but the sign-in record does. Undefined unless exactly one device
 * signed in at that moment.
 */
export function findSessionUserAgent(
  { kind, signedInAt }: Pick<SessionSummary, 'kind' | 'signedInAt'>,
  signIns: readonly Pick<SignInRecord, 'attemptedAt' | 'outcome' | 'userAgent'>[],
): string | undefined {
  if (kind !== 'Browser') return undefined;
  const near = signIns.filter(
    ({ attemptedAt, outcome }) =>
      outcome === 'Success' && Math.abs(attemptedAt - signedInAt) <= maxSessionStartGapMs,
  );
  const agents = new Set(near.map(({ userAgent }) => userAgent));
  return agents.size === 1 ? near[0]?.userAgent : undefined;
}
