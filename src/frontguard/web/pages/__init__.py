"""The pages of the live view, made of elements: a page is a function of what a study is at the moment.

The first answer to a visitor holds all of a page, and it is complete without a script. The script only keeps it up to
date: it is sent the regions that changed, as plain values, and patches what it shows. `data-place` on a region says
where it stands among the others, `data-key` on rows which is which.

Pages arrange: facts come from `studies`, sentences from `words`, pictures from `plot`. They know nothing of requests.
Read `studies` first, then `arm`; `parts` are the pieces of which all of them are made, and what stands around them.
"""

from frontguard.web.pages.arm import arm_page as arm_page
from frontguard.web.pages.parts import Page as Page
from frontguard.web.pages.parts import document as document
from frontguard.web.pages.studies import message_page as message_page
from frontguard.web.pages.studies import reading_page as reading_page
from frontguard.web.pages.studies import studies_page as studies_page
from frontguard.web.pages.studies import study_page as study_page
from frontguard.web.pages.studies import with_trouble as with_trouble
