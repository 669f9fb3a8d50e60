/** The kinds of error codes with their defaults for `retryable` and `outcome`. */
/** The request was not processed; the same request can never succeed. */
export const permanentError = <const Status extends number>(
  status: Status,
  title: string,
  help: string,
) => ({ status, title, help, retryable: false, outcome: 'NotProcessed' }) as const;

/** The request was not processed; the same request can succeed later. */
export const temporaryError = <const Status extends number>(
  status: Status,
  title: string,
  help: string,
) => ({ status, title, help, retryable: true, outcome: 'NotProcessed' }) as const;

/** A failure with an unknown outcome: the client must request the status. */
export const unknownOutcome = <const Status extends number>(
  status: Status,
  title: string,
  help: string,
  ownAdvice?: { readonly advice: string },
) => ({ status, title, help, ...ownAdvice, retryable: true, outcome: 'Unknown' }) as const;

/** Like `unknownOutcome`, but the request cannot be repeated: the client requests the outcome instead. */
export const unknownOutcomeOnce = <const Status extends number>(
  status: Status,
  title: string,
  help: string,
) => ({ status, title, help, retryable: false, outcome: 'Unknown' }) as const;

/** Reserves a code that no answer uses yet, because the list of codes is closed. */
export const reserve = <const Facts extends object>(facts: Facts) =>
  ({ ...facts, reserved: true }) as const;

/** A reserved code of the kind `permanentError`. */
export const reservedPermanentError = <const Status extends number>(
  status: Status,
  title: string,
  help: string,
) => reserve(permanentError(status, title, help));
