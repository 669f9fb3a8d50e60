/** Error codes of the first checks: transport, authentication and permissions. */
import { permanentError, reservedPermanentError, temporaryError } from './error-code-kinds.ts';

/** Size, media type and headers; checked before the body is read. */
export const transportCodes = {
  request_malformed: permanentError(
    400,
    'The request is not valid HTTP',
    'The request line, a header or the percent-encoding of the URL is not valid. Check the HTTP client or the proxy.',
  ),
  missing_header: reservedPermanentError(
    400,
    'A required header is missing',
    'The operation requires a header that the request does not contain; the detail names it.',
  ),
  header_invalid: permanentError(
    400,
    'A header has an invalid value',
    'The value of a header has the wrong format. Correct the header that the detail names.',
  ),
  request_timeout: temporaryError(
    408,
    'The request did not arrive in time',
    'The client did not send the whole request within the time limit.',
  ),
  payload_too_large: permanentError(
    413,
    'The body is too large',
    'The body is larger than the limit: 1 MiB, if the operation documents no other limit. Send a smaller body.',
  ),
  uri_too_long: permanentError(
    414,
    'The URL is too long',
    'The URL with its query is longer than the limit. Send fewer or shorter query parameters.',
  ),
  unsupported_media_type: permanentError(
    415,
    'The media type is not supported',
    'Send application/json in UTF-8, or the media type that the OpenAPI document gives for the operation.',
  ),
  headers_too_large: permanentError(
    431,
    'The headers are too large',
    'All headers together are longer than the limit. Send fewer or shorter headers.',
  ),
  route_not_found: permanentError(
    404,
    'No operation has this path',
    'The platform has no operation with this path; compare it with the OpenAPI document.',
  ),
  method_not_allowed: permanentError(
    405,
    'The method is not allowed here',
    'The path exists, but not with this method; the Allow header lists the methods.',
  ),
  not_acceptable: permanentError(
    406,
    'No media type in the Accept header is available',
    'Send an Accept header with a media type that the OpenAPI document gives for the response.',
  ),
  endpoint_gone: reservedPermanentError(
    410,
    'The operation has been withdrawn',
    'The operation was removed after its announced sunset date.',
  ),
  version_retired: reservedPermanentError(
    410,
    'The version has been retired',
    'The version in the path is past its announced sunset date; use the next version.',
  ),
} as const;

/** Authentication, permission and scope. */
export const accessCodes = {
  token_missing: permanentError(
    401,
    'An access token is required',
    'Send the header Authorization: Bearer with an access token of your user domain.',
  ),
  token_invalid: permanentError(
    401,
    'The access token is not valid',
    'The token is malformed, revoked, not from a known user domain, or not for this platform. Request a new one.',
  ),
  token_expired: permanentError(
    401,
    'The access token has expired',
    'Request a new access token and send the request again with it.',
  ),
  certificate_required: permanentError(
    401,
    'A client certificate is required',
    'Connect with a client certificate: the operation, or the token that is bound to one, requires it.',
  ),
  certificate_invalid: permanentError(
    401,
    'The client certificate is not accepted',
    'The issuer or the device is unknown, or the certificate is not valid yet. Request a certificate for the device.',
  ),
  certificate_expired: permanentError(
    401,
    'The client certificate has expired',
    'Request a new certificate for the device and connect with it.',
  ),
  certificate_revoked: permanentError(
    401,
    'The client certificate was revoked',
    'The certificate was revoked before it expired; the device needs a new key and a new certificate.',
  ),
  permission_denied: permanentError(
    403,
    'The permission is missing',
    'The token does not have the permission that the detail names. Ask an administrator for a role that has it.',
  ),
  entity_out_of_scope: permanentError(
    403,
    'The token has no access to this entity',
    'The token is for another merchant, store or device. Use a token that may access the one in the request.',
  ),
  user_deactivated: permanentError(
    403,
    'The user is deactivated',
    'A deactivated user cannot use the platform; an administrator can activate the user again.',
  ),
  merchant_not_active: permanentError(
    403,
    'The merchant is not active',
    'The merchant or its organisation is disabled. Enable it in the portal or with the Provisioning API.',
  ),
  store_not_active: permanentError(
    403,
    'The store is not active',
    'The store is disabled. Enable it in the portal or with the Provisioning API.',
  ),
  device_not_active: permanentError(
    403,
    'The device is not active',
    'Enable the device and its store, and link the device to a logical device of the store.',
  ),
  device_without_store: permanentError(
    403,
    'The device is not assigned to a store',
    'Link the physical device to a logical device of a store; an unlinked device has no merchant.',
  ),
  device_not_claimed: permanentError(
    403,
    'The terminal is not claimed',
    'Claim the terminal first: with the manufacturer certificate and the user domain, or with the code on its display.',
  ),
  certificate_mismatch: permanentError(
    403,
    'The certificate belongs to another device',
    'The certificate has another serial number than the request or the device. Use the certificate of this device.',
  ),
} as const;
