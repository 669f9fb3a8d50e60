/** Error codes of overload, and of faults of the platform or of the systems that it calls. */
import {
  permanentError,
  reserve,
  reservedPermanentError,
  temporaryError,
  unknownOutcome,
} from './error-code-kinds.ts';

/** Overload, and faults of the platform or of the systems that it calls. */
export const serverCodes = {
  rate_limited: temporaryError(
    429,
    'Too many requests',
    'The limit of the client, device or store is reached; try again after the time in Retry-After.',
  ),
  internal_error: unknownOutcome(
    500,
    'An internal error occurred',
    'The platform has a fault; request the status first, unless the outcome in the response is NotProcessed.',
  ),
  acquirer_rejected_message: reservedPermanentError(
    502,
    'The acquirer rejected the message',
    'The acquirer could not read the message; nothing was processed.',
  ),
  provider_bad_answer: reserve(
    unknownOutcome(
      502,
      'The response of the provider is not valid',
      'The response of the service provider does not follow the SPI; request the status of the payment.',
    ),
  ),
  acquirer_unavailable: temporaryError(
    503,
    'The acquirer is not available',
    'No link to the acquirer is open, and the platform sent nothing; try again later or sell offline.',
  ),
  provider_unavailable: permanentError(
    502,
    'The provider is not available',
    'The service provider did not create the payment. Create a new payment with a new identifier.',
  ),
  not_sent: permanentError(
    502,
    'The request could not be sent to the acquirer',
    'The platform stored the request and sent nothing to the acquirer. Send it again with a new identifier.',
  ),
  hsm_unavailable: temporaryError(
    503,
    'The hardware security module is not available',
    'The platform could not translate the PIN and sent nothing to the acquirer.',
  ),
  card_keys_unavailable: temporaryError(
    503,
    'The keys of stored cards are not available',
    'The key provider of the card vault does not answer; the platform sent nothing to the acquirer.',
  ),
  database_unavailable: unknownOutcome(
    503,
    'The database is not available',
    'The platform cannot reach its database. Request the status of the transaction when it is available again.',
  ),
  recovery_required: unknownOutcome(
    503,
    'The database is being recovered',
    'The restored database does not contain all payments. Wait until the operator has completed the recovery.',
    {
      advice:
        'Request the status after the recovery. If the payment or the operation is not found, ask the acquirer before you send the request again: it can have been processed.',
    },
  ),
  overloaded: temporaryError(
    503,
    'The platform is overloaded',
    'A queue is full, and the request was not processed; try again after the time in Retry-After.',
  ),
  shutting_down: temporaryError(
    503,
    'The process is shutting down',
    'This process stops and accepts no new requests. Send the request again: another process will answer it.',
  ),
  acquirer_timeout: reserve(
    unknownOutcome(
      504,
      'The acquirer did not answer in time',
      'No response came, and the reversal could not be stored; request the status.',
    ),
  ),
  provider_timeout: unknownOutcome(
    504,
    'The provider did not answer in time',
    'The service provider sent no response; request the status of the payment.',
  ),
} as const;
