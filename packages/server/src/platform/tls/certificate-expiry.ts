// Reports when the certificates of a process expire: as a metric, and as a warning in the log.
import { readFileSync } from 'node:fs';
import { parseCertificates } from '../crypto/parse-certificates.ts';
import type { Log } from '../observability/log.ts';
import type { Metrics } from '../observability/metrics.ts';
import type { Settings } from '../settings/settings.ts';
import { type Clock, dayMs, isoTime } from '../time/clock.ts';

const warnBeforeDays = 30;

type Warner = { readonly clock: Clock; readonly log: Pick<Log, 'warn'> };

/** @param certificate names the certificate in the log */
export function warnBeforeExpiry({ clock, log }: Warner, certificate: string, expiresAt: number) {
  const days = Math.floor((expiresAt - clock.now()) / dayMs);
  if (days >= warnBeforeDays) return;
  const state = days < 0 ? 'has expired' : `expires in ${days} ${days === 1 ? 'day' : 'days'}`;
  log.warn(
    { certificate, expiresAt: isoTime(expiresAt) },
    `a certificate ${state}; replace its file`,
  );
}

/** The files are those that the process has loaded; a new file counts after a restart. */
export function reportCertificateExpiry(
  deps: Warner & { readonly metrics: Metrics },
  settings: Pick<Settings, 'deviceCaFile' | 'hsmTlsCertFile' | 'natsCertFile'>,
  listenerCertificate: string | undefined,
): void {
  const gauge = deps.metrics.gauge({
    name: 'switchyard_certificate_expiry_timestamp_seconds',
    help: 'Earliest expiry of the certificates in a loaded file, as a Unix time in seconds',
    labelNames: ['certificate'],
  });
  const read = (file: string | undefined) =>
    file === undefined ? undefined : readFileSync(file, 'utf8');
  const files = {
    listener: listenerCertificate,
    device_authority: read(settings.deviceCaFile),
    nats_client: read(settings.natsCertFile),
    hsm_client: read(settings.hsmTlsCertFile),
  };
  for (const [certificate, pem = ''] of Object.entries(files)) {
    const expiries = parseCertificates(pem).map(({ validToDate }) => validToDate.getTime());
    if (expiries.length === 0) continue;
    const expiresAt = Math.min(...expiries);
    gauge.set({ certificate }, expiresAt / 1000);
    warnBeforeExpiry(deps, certificate, expiresAt);
  }
}
