/** The kinds of error codes with their defaults for `retryable` and `outcome`. */
/** Refused; the same request can never succeed. */
export const refused = <const Status extends number>(status: Status, title: string, help: string) =>
  ({ status, title, help, retryable: false, outcome: 'NotProcessed' }) as const;

/** Refused; the same request can succeed later. */
export const refusedForNow = <const Status extends number>(
  status: Status,
  title: string,
  help: string,
) => ({ status, title, help, retryable: true, outcome: 'NotProcessed' }) as const;

/** A failure with an unknown outcome: the client must request the status. */
export const notKnown = <const Status extends number>(
  status: Status,
  title: string,
  help: string,
) => ({ status, title, help, retryable: true, outcome: 'Unknown' }) as const;

/** Like `notKnown`, but the request cannot be repeated: the client requests the outcome instead. */
export const notKnownOnce = <const Status extends number>(
  status: Status,
  title: string,
  help: string,
) => ({ status, title, help, retryable: false, outcome: 'Unknown' }) as const;

/** Reserves a code that no answer uses yet, because the list of codes is closed. */
export const kept = <const Facts extends object>(facts: Facts) =>
  ({ ...facts, reserved: true }) as const;

/** A reserved code of the kind `refused`. */
export const reserved = <const Status extends number>(
  status: Status,
  title: string,
  help: string,
) => kept(refused(status, title, help));
