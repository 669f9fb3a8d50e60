// Names a device by its User-Agent, so that people know theirs again; a guess, and never more than words.
import type { SignInRecord } from '../accounts/index.ts';
import type { SessionSummary } from '../sessions/sessions.ts';

const browsers: readonly (readonly [RegExp, string])[] = [
  [/\bEdgA?\//, 'Edge'],
  [/\bOPR\//, 'Opera'],
  [/\bSamsungBrowser\//, 'Samsung Internet'],
  [/\b(?:Firefox|FxiOS)\//, 'Firefox'],
  [/\b(?:HeadlessChrome|Chrome|CriOS)\//, 'Chrome'],
  [/\bVersion\/[\d.]+ .*Safari\//, 'Safari'],
  [/^curl\//, 'curl'],
];

const systems: readonly (readonly [RegExp, string])[] = [
  [/\bWindows NT\b/, 'Windows'],
  [/\biPad\b/, 'iPad'],
  [/\biPhone\b/, 'iPhone'],
  [/\bAndroid\b/, 'Android'],
  [/\bMac OS X\b/, 'macOS'],
  [/\bCrOS\b/, 'ChromeOS'],
  [/\bLinux\b/, 'Linux'],
];

function named(
  userAgent: string,
  table: readonly (readonly [RegExp, string])[],
): string | undefined {
  return table.find(([form]) => form.test(userAgent))?.[1];
}

export function deviceName(
  userAgent: string | undefined,
): { readonly browser: string; readonly system?: string } | undefined {
  if (userAgent === undefined) return undefined;
  const browser = named(userAgent, browsers);
  const system = named(userAgent, systems);
  if (browser === undefined) return system === undefined ? undefined : { browser: system };
  return system === undefined ? { browser } : { browser, system };
}

/** By a passkey it begins a moment before the record is written. */
const nearMs = 1500;

/**
 * A session keeps no trace of the browser; the attempt that began it does. Only where one device
 * alone signed in at that moment is it named.
 */
export function userAgentOf(
  { kind, signedInAt }: Pick<SessionSummary, 'kind' | 'signedInAt'>,
  signIns: readonly Pick<SignInRecord, 'at' | 'outcome' | 'userAgent'>[],
): string | undefined {
  if (kind !== 'Browser') return undefined;
  const near = signIns.filter(
    ({ at, outcome }) => outcome === 'Success' && Math.abs(at - signedInAt) <= nearMs,
  );
  const agents = new Set(near.map(({ userAgent }) => userAgent));
  return agents.size === 1 ? near[0]?.userAgent : undefined;
}
