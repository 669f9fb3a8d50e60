/** Error codes of lookups, of the state of a transaction, and of contracts. */
import {
  permanentError,
  reserve,
  reservedPermanentError,
  temporaryError,
  unknownOutcomeOnce,
} from './error-code-kinds.ts';

/** Entities that the path or the body names. An identifier of another tenant counts as unknown. */
export const lookupCodes = {
  organization_not_found: permanentError(
    404,
    'The organisation is not found',
    'No organisation that you may see has this identifier.',
  ),
  merchant_not_found: permanentError(
    404,
    'The merchant is not found',
    'No merchant that you may see has this identifier.',
  ),
  store_not_found: permanentError(
    404,
    'The store is not found',
    'No store that you may see has this identifier.',
  ),
  device_not_found: permanentError(
    404,
    'The device is not found',
    'No logical or physical device that you may see has this identifier.',
  ),
  transaction_not_found: permanentError(
    404,
    'The transaction is not found',
    'No transaction that you can access has this identifier. A request whose response was lost can still arrive.',
  ),
  settlement_not_found: permanentError(
    404,
    'The settlement is not found',
    'No settlement that you may see has this identifier.',
  ),
  batch_not_found: permanentError(
    404,
    'The batch is not found',
    'No batch that you may see has this identifier.',
  ),
  resource_not_found: permanentError(
    404,
    'The resource is not found',
    'No resource that you may see has the identifier in the path.',
  ),
  events_forgotten: permanentError(
    410,
    'These events are no longer stored',
    'The events at this position are deleted. Continue after the position in the detail; read states from the API.',
  ),
  service_not_found: permanentError(
    404,
    'The service is not found',
    'You can see no service with this identifier. A draft is visible only to its provider.',
  ),
  endpoint_not_found: permanentError(
    404,
    'The endpoint is not found',
    'No webhook endpoint that you may see has this identifier.',
  ),
  delivery_not_found: permanentError(
    404,
    'The delivery is not found',
    'No delivery that you may see has this identifier; old deliveries are deleted.',
  ),
  already_exists: permanentError(
    409,
    'The resource already exists',
    'Another resource already has this value, which must be unique. Change the field that the pointer names.',
  ),
  certificate_limit_reached: permanentError(
    409,
    'The device has too many certificates',
    'Revoke certificates that the device no longer uses, then request a new one.',
  ),
  has_dependants: permanentError(
    409,
    'Other resources depend on this resource',
    'Other resources depend on this one; first delete or move those that the detail names.',
  ),
  service_state: permanentError(
    409,
    'The state of the service does not allow this',
    'Only a published service can be offered and activated; only a draft can be deleted.',
  ),
  activation_state: permanentError(
    409,
    'The state of the activation does not allow this',
    'The activation was accepted, rejected, deactivated or requested again before this request. Read it again.',
  ),
  endpoint_state: permanentError(
    409,
    'The state of the endpoint does not allow this',
    'The endpoint is disabled, or has not answered its challenge. Enable it, or call its verify operation.',
  ),
  endpoint_limit_reached: permanentError(
    409,
    'The organisation has too many endpoints',
    'Delete unused endpoints, or use one endpoint for the event types of several endpoints.',
  ),
  endpoint_unverified: permanentError(
    409,
    'The endpoint did not answer its challenge',
    'The endpoint must verify the signature and answer 200 with the challenge as the whole body.',
  ),
  replay_running: permanentError(
    409,
    'A replay to the endpoint is running',
    'Only one replay per endpoint can run; this response has its positions. Start yours when it has ended.',
  ),
  keys_renewed_often: temporaryError(
    409,
    'The keys were rotated too often',
    'Three previous keys are still valid, each for 24 hours. Rotate again after the time in Retry-After.',
  ),
  application_state: permanentError(
    409,
    'The application is not waiting for approval',
    'Only an application in the status PendingApproval can be approved; read it again.',
  ),
  delivery_state: permanentError(
    409,
    'The delivery cannot be sent again',
    'The event is no longer stored, or the endpoint was deleted.',
  ),
  key_request_refused: permanentError(
    409,
    'The host sends no new keys',
    'The link has no zoneMasterKey or is not signed on, or the host did not approve the request. The detail names the reason.',
  ),
  concurrent_modification: temporaryError(
    409,
    'The resource was changed at the same time',
    'Another request changed the resource first; read it again and repeat the change.',
  ),
  precondition_failed: permanentError(
    412,
    'The resource has changed since it was read',
    'The If-Match header does not match the current ETag; read the resource again.',
  ),
  precondition_required: reservedPermanentError(
    428,
    'The If-Match header is required',
    'Send the ETag of the version that you read, so that you do not overwrite another change.',
  ),
} as const;

/** Idempotency. */
export const idempotencyCodes = {
  client_id_reused: permanentError(
    422,
    'The identifier was used for another request',
    'Read the earlier request before you use a new identifier. If you did not send it, its result is not yours: use UUIDs.',
  ),
  offline_sequence_reused: permanentError(
    422,
    'The sequence number belongs to another offline sale',
    'Another sale, named in this response, has this terminalSequence. Send this sale with an unused number.',
  ),
  offline_sale_already_uploaded: {
    ...permanentError(
      409,
      'The offline sale was uploaded under another identifier',
      'This response names the first transaction; use its clientTransactionId and not this identifier.',
    ),
    outcome: 'Processed',
  },
  request_in_progress: temporaryError(
    409,
    'The same request is still running',
    'An earlier request with this identifier is still running; repeat the request later to get its response.',
  ),
  request_interrupted: unknownOutcomeOnce(
    409,
    'The same request was interrupted',
    'The earlier request with this key may have been processed. Read the resource before you use a new key.',
  ),
  transaction_ambiguous: permanentError(
    409,
    'The identifier matches several transactions',
    'Several merchants that you may see used this identifier; add the parameter merchantId.',
  ),
  transaction_archived: reservedPermanentError(
    409,
    'The transaction is archived',
    'The retention time of the transaction has ended; this response contains its final state.',
  ),
} as const;

/** State and amount: the transaction does not allow the operation. */
export const stateCodes = {
  transaction_in_progress: temporaryError(
    409,
    'The transaction is still in progress',
    'The sale or an operation on it has no outcome yet; request the status, then repeat the operation.',
  ),
  reversal_in_progress: permanentError(
    409,
    'The transaction is being reversed',
    'The outcome of the sale was unknown, so the platform reverses it. Send a new sale if you need one.',
  ),
  confirmation_pending: temporaryError(
    409,
    'The sale is waiting for its confirmation',
    'Confirm the sale or cancel it with reason Technical; the platform reverses it if it stays unconfirmed.',
  ),
  batch_running: reserve(
    temporaryError(
      409,
      'A batch is still running',
      'A capture of all transactions is running; wait until it has ended.',
    ),
  ),
  not_authorized: permanentError(
    422,
    'The transaction is not authorised',
    'The operation requires an authorisation, and the transaction has none.',
  ),
  transaction_declined: permanentError(
    422,
    'The transaction was declined',
    'A declined sale stays declined; send a new sale with a new identifier.',
  ),
  transaction_failed: reservedPermanentError(
    422,
    'The transaction failed',
    'The acquirer never received the sale; send a new sale with a new identifier.',
  ),
  transaction_reversed: permanentError(
    422,
    'The transaction was reversed',
    'The whole sale was reversed, so no amount is left for an operation.',
  ),
  authorization_expired: permanentError(
    422,
    'The authorisation has expired',
    'The authorisation is older than the acquirer contract allows. Send a new sale.',
  ),
  not_captured: permanentError(
    422,
    'Nothing has been captured',
    'A refund requires a captured amount; cancel the authorisation instead.',
  ),
  nothing_to_capture: permanentError(
    422,
    'No authorised amount is left to capture',
    'The authorised amount is already captured or cancelled.',
  ),
  nothing_to_cancel: permanentError(
    422,
    'No authorised amount is left to cancel',
    'The transaction is an account verification, which authorises no amount.',
  ),
  already_captured: permanentError(
    422,
    'The transaction is already captured',
    'A captured amount cannot be cancelled; refund it instead.',
  ),
  already_cancelled: permanentError(
    422,
    'The transaction is already cancelled',
    'An earlier operation cancelled the whole authorisation.',
  ),
  already_refunded: permanentError(
    422,
    'The transaction is already refunded',
    'Earlier operations refunded the whole captured amount.',
  ),
  not_refundable: reservedPermanentError(
    422,
    'The transaction cannot be refunded',
    'Transactions of this type have no refund.',
  ),
  refund_window_closed: reservedPermanentError(
    422,
    'The time limit for refunds has passed',
    'The acquirer contract accepts refunds for a limited time after the capture.',
  ),
  capture_amount_exceeded: permanentError(
    422,
    'The capture exceeds the amount left to capture',
    'The amount is above the open authorised amount. Capture at most the maxAmount in this response.',
  ),
  cancel_amount_exceeded: permanentError(
    422,
    'The cancel exceeds the amount left to cancel',
    'The amount is above the open authorised amount. Cancel at most the maxAmount in this response.',
  ),
  refund_amount_exceeded: permanentError(
    422,
    'The refund exceeds the amount left to refund',
    'The amount is above the refundable amount. Refund at most the maxAmount in this response.',
  ),
  not_completed: permanentError(
    422,
    'The payment is not completed',
    'Only a completed QR payment can be refunded; cancel a payment that is not paid yet.',
  ),
  already_completed: permanentError(
    422,
    'The payment is already completed',
    'A paid QR payment cannot be cancelled; refund it instead.',
  ),
  payment_held: permanentError(
    409,
    'The payment is under manual review',
    'The paid amount is wrong, or a refund failed. Resolve the payment in the portal or with the resolve operation.',
  ),
  payment_not_held: permanentError(
    422,
    'The payment is not under manual review',
    'This QR payment needs no manual decision. Read it again.',
  ),
  resolution_not_possible: permanentError(
    409,
    'This resolution is not possible',
    'The state does not allow this resolution. The detail gives the reason; allowedResolutions lists the others.',
  ),
  event_limit_reached: permanentError(
    422,
    'The payment has too many events',
    'The platform accepts no more provider events, cancels or refunds for this payment.',
  ),
  partial_reversal_not_supported: permanentError(
    422,
    'A technical cancel is for the whole amount',
    'A cancel with reason Technical reverses the whole sale; omit the amount.',
  ),
} as const;

/** Configuration: the merchant's contract or services do not allow the operation. */
export const configurationCodes = {
  no_acquirer_for_merchant: permanentError(
    422,
    'No acquirer contract matches',
    'The merchant has no enabled acquirer contract for this payment. Add or enable one.',
  ),
  terminal_range_exhausted: permanentError(
    422,
    'All terminals of the acquirer contract are in use',
    'All terminal identifiers of the range are used; give the merchant a contract with a wider range.',
  ),
  currency_not_supported: permanentError(
    422,
    'The currency is not in the acquirer contract',
    'Use a currency of the acquirer contract of the merchant, or add the currency to the contract.',
  ),
  capture_mode_not_supported: permanentError(
    422,
    'The capture mode is not in the acquirer contract',
    'Use a capture mode of the acquirer contract of the merchant, or add this mode to the contract.',
  ),
  multiple_capture_not_supported: permanentError(
    422,
    'Only one capture is possible',
    'The acquirer contract has no multipleCapture: send this capture without "final": false, or change the contract.',
  ),
  partial_cancel_not_supported: permanentError(
    422,
    'A partial cancel is not possible',
    'The acquirer cancels only the whole open amount. Cancel it all, or capture it and refund the part.',
  ),
  partial_approval_not_supported: permanentError(
    422,
    'A partial approval is not possible',
    'The acquirer contract does not allow partial approvals. Send the sale without this option.',
  ),
  clear_card_data_refused: permanentError(
    422,
    'Unencrypted card data is not accepted',
    'The acquirer contract accepts only encrypted card data and tokens. Encrypt the card data, or send a token.',
  ),
  encryption_key_unknown: permanentError(
    422,
    'The encryption key is not known',
    'The HSM has no base derivation key for this name or key serial number. Load the key, or correct the name.',
  ),
  pin_not_supported: permanentError(
    422,
    'The acquirer does not accept PINs',
    'The acquirer link has no zone PIN key. Add the key to the link, or send the sale without a PIN.',
  ),
  nothing_to_clear: permanentError(
    422,
    'No capture waits for a clearing file',
    'A capture is cleared after its settlement day has ended. Send openDays: true to include open days.',
  ),
  acknowledgement_invalid: permanentError(
    422,
    'The acknowledgement is not valid for the file',
    'Nothing was processed. Correct the line that the detail names, and send the acknowledgement again.',
  ),
  clearing_file_acknowledged: permanentError(
    409,
    'The clearing file has a different acknowledgement',
    'The stored acknowledgement of the file differs from this one, and stays. Compare both with the acquirer.',
  ),
  payment_type_not_enabled: permanentError(
    422,
    'The payment type is not enabled',
    'Activate a provider service that supports this payment type for the device.',
  ),
  service_not_subscribed: permanentError(
    422,
    'The service is not subscribed',
    'Subscribe the organisation to a package that contains the service.',
  ),
  provider_not_subscribed: reservedPermanentError(
    422,
    'The provider service is not subscribed',
    'The organisation has no subscription that contains the service of this provider.',
  ),
} as const;
