// Checks link configurations in the background, one at a time, and repeats the checks periodically.
import { createWorks, type Log } from '../../platform/index.ts';
import type { AcquirerLink } from '../spi/acquirer-spi.ts';
import type { LinkConfigurationError } from '../spi/invalid-link-setting.ts';
import {
  checkLinkConfiguration,
  dependenciesOf,
  type LinkCheckPorts,
  type LinkCheckResult,
} from './check-link-keys-and-certificate.ts';

export type CheckedLink = {
  link: AcquirerLink;
  /** The last check; its errors remain until the next check completes. */
  check?:
    | { fingerprint: string; errors: readonly LinkConfigurationError[]; nextCheckAt: number }
    | undefined;
};

const recheckIntervalMs = 600_000;
/** Applies after an error or an incomplete check. */
const recheckAfterErrorMs = 30_000;

/** @returns schedules a check if the settings changed or the last check is too old */
export function createConfigurationChecker(
  ports: LinkCheckPorts & { log: Log },
): (entry: CheckedLink, fingerprint: string) => void {
  const { clock, log } = ports;
  const tasks = createWorks<void>();

  async function runCheck(entry: CheckedLink, scheduled: CheckedLink['check']): Promise<void> {
    // The settings changed or the link was removed after the check was scheduled.
    if (scheduled === undefined || entry.check !== scheduled) return;
    const { organizationId, name } = entry.link;
    let result: LinkCheckResult = { errors: [], isIncomplete: true };
    try {
      result = await checkLinkConfiguration(ports, organizationId, dependenciesOf(entry.link));
    } catch (error) {
      log.error({ err: error, link: name }, 'configuration check of an acquirer link failed');
    }
    if (entry.check !== scheduled) return;
    const { errors, isIncomplete } = result;
    for (const { pointer, detail } of errors)
      log.warn({ link: name, pointer, detail }, 'acquirer link has an invalid setting');
    const delayMs = isIncomplete || errors.length > 0 ? recheckAfterErrorMs : recheckIntervalMs;
    entry.check = { ...scheduled, errors, nextCheckAt: clock.now() + delayMs };
  }

  return (entry, fingerprint) => {
    const previous = entry.check?.fingerprint === fingerprint ? entry.check : undefined;
    if (previous !== undefined && clock.now() < previous.nextCheckAt) return;
    const errors = previous?.errors ?? [];
    const scheduled = { fingerprint, errors, nextCheckAt: Number.POSITIVE_INFINITY };
    entry.check = scheduled;
    void tasks.inTurn('check', () => runCheck(entry, scheduled));
  };
}
