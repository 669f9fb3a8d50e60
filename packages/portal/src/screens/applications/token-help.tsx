/** Shows the token endpoints of the user domain and the commands for this application. */
import type { Application } from '@switchyard/contract';
import { useQuery } from '@tanstack/react-query';
import { api } from '../../api/client.ts';
import { ErrorMessage } from '../../components/layout/error-message.tsx';
import { DescriptionList, Panel } from '../../components/layout/page.tsx';
import { CodeBlock } from '../../components/values/code-block.tsx';
import { copyItem } from '../../components/values/description-items.tsx';
import { useTranslate } from '../../locales/index.ts';
import { useSession } from '../../session/use-session.ts';
import { managingResource } from './application-kinds.ts';
import { type TokenEndpoints, tokenCommands } from './token-commands.ts';

export function TokenHelp({ application }: { readonly application: Application }) {
  const t = useTranslate('applications');
  const { userDomainId } = useSession();
  const { data, error, refetch } = useQuery({
    queryKey: ['realm', userDomainId],
    queryFn: ({ signal }) =>
      api.get<TokenEndpoints>(`/auth/realms/${userDomainId}/.well-known/openid-configuration`, {
        signal,
      }),
    staleTime: Number.POSITIVE_INFINITY,
  });
  if (error !== null) return <ErrorMessage fault={error} onRetry={() => void refetch()} />;
  if (data === undefined) return null;
  const usesSignIn = application.securityFlows.includes('AuthorizationCode');
  const calls = tokenCommands(application, data, managingResource(application) === 'devices');
  return (
    <Panel title={t('panels.token')}>
      <div className="sy-app-token">
        <DescriptionList
          items={[
            copyItem(t('issuer'), data.issuer),
            copyItem(t('tokenAddress'), data.token_endpoint),
            copyItem(t('signInAddress'), usesSignIn ? data.authorization_endpoint : undefined),
          ]}
        />
        {calls.map(({ name, text }) => (
          <div key={name} className="sy-app-call">
            <h3>{t(`calls.${name}`)}</h3>
            <CodeBlock text={text} label={t(`calls.${name}`)} />
          </div>
        ))}
      </div>
    </Panel>
  );
}
