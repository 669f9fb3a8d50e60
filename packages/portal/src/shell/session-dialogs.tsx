/** Warns an idle user before the session ends, and reports the end. */
import { Button, Modal } from '@mantine/core';
import { currentPortal } from '../app/current-portal.ts';
import { useTranslate } from '../locales/index.ts';
import { useSessionState } from '../session/session-monitor-context.ts';
import { redirectToSignIn, signInUrl } from '../session/signed-in-user.ts';

/** Above every other dialog, because a form may be open. */
const notClosable = {
  withCloseButton: false,
  closeOnEscape: false,
  closeOnClickOutside: false,
  zIndex: 500,
};
/** Hides the page, because another person may see the screen after the session has ended. */
const opaqueOverlay = { backgroundOpacity: 0.85, blur: 12 };

export default function SessionDialogs() {
  const t = useTranslate('shell');
  const { state, secondsLeft, keepAlive } = useSessionState();
  return (
    <>
      <Modal opened={state === 'idle'} onClose={keepAlive} title={t('idle.title')} {...notClosable}>
        <p className="sy-dialogue-text">{t('idle.text', { count: secondsLeft })}</p>
        <div className="sy-confirm-buttons">
          <Button data-autofocus onClick={keepAlive}>
            {t('idle.stay')}
          </Button>
        </div>
      </Modal>
      <Modal
        opened={state === 'ended'}
        onClose={() => redirectToSignIn()}
        title={t('ended.title')}
        overlayProps={opaqueOverlay}
        {...notClosable}
      >
        <p className="sy-dialogue-text">{t('ended.text')}</p>
        <div className="sy-confirm-buttons">
          <Button variant="default" onClick={() => redirectToSignIn()}>
            {t('ended.signIn')}
          </Button>
          <Button
            data-autofocus
            component="a"
            href={signInUrl(`/${currentPortal}/`)}
            target="_blank"
            rel="noopener"
          >
            {t('ended.newTab')}
          </Button>
        </div>
      </Modal>
    </>
  );
}
