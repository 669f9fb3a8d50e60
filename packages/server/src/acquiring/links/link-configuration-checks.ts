// Checks link configurations in the background, one at a time, and repeats the checks periodically.
import type { Clock, Log } from '../../platform/index.ts';
import type { AcquirerLink } from '../spi/acquirer-spi.ts';
import type { LinkConfigurationError } from '../spi/invalid-link-setting.ts';
import {
  dependenciesOf,
  type LinkCheckResult,
  type LinkDependencies,
} from './link-configuration-errors.ts';

export type LinkConfigurationChecks = {
  /** Schedules a check if the settings changed or the last check is too old. */
  scheduleCheck(link: AcquirerLink, fingerprint: string): void;
  getErrors(linkId: string): readonly LinkConfigurationError[];
  /** Deletes the state of all other links. */
  retainOnly(linkIds: ReadonlySet<string>): void;
};

type CheckState = {
  fingerprint: string;
  errors: readonly LinkConfigurationError[];
  nextCheckAt: number;
};

const recheckIntervalMs = 600_000;
/** Applies after an error or an incomplete check. */
const recheckAfterErrorMs = 30_000;

/** @example const inspections = createLinkInspections({ inspect, clock, log }); */
export function createLinkConfigurationChecks(deps: {
  inspect: (organizationId: string, dependencies: LinkDependencies) => Promise<LinkCheckResult>;
  clock: Clock;
  log: Log;
}): LinkConfigurationChecks {
  const { inspect: checkConfiguration, clock, log } = deps;
  const stateByLink = new Map<string, CheckState>();
  let checkQueue: Promise<void> = Promise.resolve();

  async function runCheck(link: AcquirerLink, fingerprint: string): Promise<void> {
    const { organizationId, linkId, name } = link;
    const isCurrent = () => stateByLink.get(linkId)?.fingerprint === fingerprint;
    if (!isCurrent()) return;
    try {
      const { errors: faults, isIncomplete: isUndecided } = await checkConfiguration(
        organizationId,
        dependenciesOf(link),
      );
      if (!isCurrent()) return;
      for (const { pointer, detail } of faults) {
        log.warn({ link: name, pointer, detail }, 'acquirer link has an invalid setting');
      }
      const delayMs = isUndecided || faults.length > 0 ? recheckAfterErrorMs : recheckIntervalMs;
      stateByLink.set(linkId, { fingerprint, errors: faults, nextCheckAt: clock.now() + delayMs });
    } catch (error) {
      log.error({ err: error, link: name }, 'configuration check of an acquirer link failed');
      if (isCurrent())
        stateByLink.set(linkId, {
          fingerprint,
          errors: [],
          nextCheckAt: clock.now() + recheckAfterErrorMs,
        });
    }
  }

  return {
    scheduleCheck(link, fingerprint) {
      const previous = stateByLink.get(link.linkId);
      const isUnchanged = previous?.fingerprint === fingerprint;
      if (isUnchanged && clock.now() < previous.nextCheckAt) return;
      const faults = isUnchanged ? previous.errors : [];
      stateByLink.set(link.linkId, {
        fingerprint,
        errors: faults,
        nextCheckAt: Number.POSITIVE_INFINITY,
      });
      checkQueue = checkQueue.then(() => runCheck(link, fingerprint));
    },
    getErrors: (linkId) => stateByLink.get(linkId)?.errors ?? [],
    retainOnly(linkIds) {
      for (const linkId of stateByLink.keys()) if (!linkIds.has(linkId)) stateByLink.delete(linkId);
    },
  };
}
