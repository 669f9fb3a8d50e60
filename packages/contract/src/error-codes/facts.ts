/** The kinds of codes: what retrying and the outcome are by default. */
/** Refused, and the same request can never succeed. */
export const refused = <const Status extends number>(status: Status, title: string, help: string) =>
  ({ status, title, help, retryable: false, outcome: 'NotProcessed' }) as const;

/** Refused, and the same request can succeed later. */
export const refusedForNow = <const Status extends number>(
  status: Status,
  title: string,
  help: string,
) => ({ status, title, help, retryable: true, outcome: 'NotProcessed' }) as const;

/** Something failed, and whether money has moved must be asked for. */
export const notKnown = <const Status extends number>(
  status: Status,
  title: string,
  help: string,
) => ({ status, title, help, retryable: true, outcome: 'Unknown' }) as const;

/** Like `notKnown`, of what is good once: repeating it is refused, and what became of it is asked for. */
export const notKnownOnce = <const Status extends number>(
  status: Status,
  title: string,
  help: string,
) => ({ status, title, help, retryable: false, outcome: 'Unknown' }) as const;

/** Nothing answers with it yet: the list is closed, so its place is kept for what it says. */
export const kept = <const Facts extends object>(facts: Facts) =>
  ({ ...facts, reserved: true }) as const;

/** `refused`, and kept. */
export const reserved = <const Status extends number>(
  status: Status,
  title: string,
  help: string,
) => kept(refused(status, title, help));
