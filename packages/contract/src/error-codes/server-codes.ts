/** Error codes of overload, and of faults of the platform or of the systems that it calls. */
import {
  permanentError,
  reserve,
  reservedPermanentError,
  temporaryError,
  unknownOutcome,
} from './error-code-facts.ts';

/** Overload, and faults of the platform or of the systems that it calls. */
export const serverCodes = {
  rate_limited: temporaryError(
    429,
    'Too many requests',
    'The rate limit of the client, device or store is reached; wait for the time in Retry-After.',
  ),
  internal_error: unknownOutcome(
    500,
    'An internal error occurred',
    'A fault of the platform; ask for the status of the transaction before trying again.',
  ),
  acquirer_rejected_message: reservedPermanentError(
    502,
    'The acquirer rejected the message',
    'The acquirer answered that it cannot read the message; nothing was processed.',
  ),
  provider_bad_answer: reserve(
    unknownOutcome(
      502,
      'The provider gave an unusable answer',
      'The service provider answered outside its interface; ask for the status of the payment.',
    ),
  ),
  acquirer_unavailable: temporaryError(
    503,
    'The acquirer is not available',
    'No link to the acquirer is open, and nothing was sent; try again later or work offline.',
  ),
  provider_unavailable: permanentError(
    502,
    'The provider is not available',
    'Nothing was sent to the service provider, and nothing will be under this identifier; try again under a new one.',
  ),
  not_sent: permanentError(
    502,
    'The request could not be sent to the acquirer',
    'Nothing was sent, and nothing will be under this identifier; try again under a new one.',
  ),
  hsm_unavailable: temporaryError(
    503,
    'The security module is not available',
    'The PIN could not be translated, and nothing was sent to the acquirer.',
  ),
  card_keys_unavailable: temporaryError(
    503,
    'The keys of stored cards are not available',
    'The key provider of the vault does not answer; nothing was sent to the acquirer.',
  ),
  database_unavailable: unknownOutcome(
    503,
    'The database is not available',
    'The platform cannot reach its database; ask for the status of the transaction afterwards.',
  ),
  recovery_required: unknownOutcome(
    503,
    'The database is being recovered',
    'The restored database lacks payments; repeat a request only after the operator has compared them with the acquirer.',
  ),
  overloaded: temporaryError(
    503,
    'The platform is overloaded',
    'A queue is full, so the server rejected the request before processing it; wait for the time in Retry-After.',
  ),
  shutting_down: temporaryError(
    503,
    'The process is shutting down',
    'The process takes no new requests; send the request again, another process will answer.',
  ),
  acquirer_timeout: reserve(
    unknownOutcome(
      504,
      'The acquirer did not answer in time',
      'No answer came and the reversal could not be made durable; ask for the status.',
    ),
  ),
  provider_timeout: unknownOutcome(
    504,
    'The provider did not answer in time',
    'The service provider gave no answer; ask for the status of the payment.',
  ),
} as const;
